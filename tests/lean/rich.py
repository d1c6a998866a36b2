"""Not there, as in the images of all services: structlog does without."""

message = f"No module named {__name__!r}"
raise ModuleNotFoundError(message, name=__name__)
