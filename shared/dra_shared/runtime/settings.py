"""Settings of a process: one frozen struct, read once from the environment, checked at start.

Each field is the variable of the same name in capitals. Its `msgspec.Meta(description=...)` is
what `--help` says about it.
"""

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar, get_args, get_origin

import msgspec

SettingsT = TypeVar("SettingsT", bound="Settings")


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What every service can be told."""

    nats_url: Annotated[
        str, msgspec.Meta(description="the NATS servers, comma-separated, user:password in them")
    ] = "nats://127.0.0.1:4222"
    log_replicas: Annotated[
        int,
        msgspec.Meta(ge=1, le=5, description="copies of the log that NATS keeps, if it makes it"),
    ] = 1
    http_host: Annotated[
        str, msgspec.Meta(description="address of /healthz, /readyz and /metrics")
    ] = "0.0.0.0"  # noqa: S104 - in a pod the probes come from outside
    http_port: Annotated[
        int, msgspec.Meta(ge=-1, le=65535, description="its port; 0 any free one, -1 none")
    ] = 8080
    log_level: Annotated[str, msgspec.Meta(description="debug, info, warning or error")] = "info"
    log_format: Annotated[
        str, msgspec.Meta(description="json, console, or auto: console on a terminal")
    ] = "auto"
    instance: Annotated[
        str, msgspec.Meta(description="name of this process among its like; default host:pid")
    ] = ""


class SettingsError(Exception):
    """A variable of the environment is missing or wrong; its message names it."""


def load(kind: type[SettingsT], environment: Mapping[str, str]) -> SettingsT:
    """The settings found in the environment; raises SettingsError naming the variable."""
    given = {
        field.name: environment[field.name.upper()]
        for field in msgspec.structs.fields(kind)
        if field.name.upper() in environment
    }
    for field in msgspec.structs.fields(kind):
        if field.required and field.name not in given:
            message = f"{field.name.upper()} is not set: {description(field)}"
            raise SettingsError(message)
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        name = str(error).rpartition("$.")[2].strip("`")
        variable = name.split("[")[0].upper() if name in given else "the environment"
        message = f"{variable}={given.get(name, '')!r} cannot be used: {error}"
        raise SettingsError(message) from error


def describe(kind: type[Settings]) -> str:
    """All variables, a line each, as `--help` shows them."""
    fields = msgspec.structs.fields(kind)
    width = max(len(field.name) for field in fields)
    return "\n".join(
        f"  {field.name.upper():{width}}  {description(field)}{_default(field)}" for field in fields
    )


def description(field: msgspec.structs.FieldInfo) -> str:
    """What a field is for, as its type's metadata says."""
    if get_origin(field.type) is not Annotated:
        return ""
    metas = [meta for meta in get_args(field.type)[1:] if isinstance(meta, msgspec.Meta)]
    return next((meta.description for meta in metas if meta.description), "")


def _default(field: msgspec.structs.FieldInfo) -> str:
    default: Any = field.default
    if field.required:
        return " (required)"
    return "" if default in ("", msgspec.NODEFAULT, None) else f" [{default}]"
