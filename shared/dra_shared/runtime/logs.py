"""Logging: one canonical line a decision, JSON in pods, readable on a terminal."""

import logging
import sys
from typing import Final

import structlog

from dra_shared.runtime.settings import Settings, SettingsError

FORMATS: Final = ("auto", "console", "json")


def configure(settings: Settings, service: str) -> None:
    """Sets structlog up for this process; every line carries the service's name."""
    level = logging.getLevelNamesMapping().get(settings.log_level.upper())
    if level is None:
        message = f"LOG_LEVEL={settings.log_level!r} is none of debug, info, warning, error"
        raise SettingsError(message)
    if settings.log_format not in FORMATS:
        message = f"LOG_FORMAT={settings.log_format!r} is none of {', '.join(FORMATS)}"
        raise SettingsError(message)
    pretty = settings.log_format == "console" or (
        settings.log_format == "auto" and sys.stderr.isatty()
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.dev.ConsoleRenderer() if pretty else structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    structlog.contextvars.bind_contextvars(service=service)
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
