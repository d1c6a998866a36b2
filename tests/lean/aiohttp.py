"""Not there, as in the images of the inventory, the allocator and the node agent: NATS' client does without."""

message = f"No module named {__name__!r}"
raise ModuleNotFoundError(message, name=__name__)
