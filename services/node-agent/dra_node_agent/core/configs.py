"""Opaque configuration: decoded strictly, and which of several applies to a device.

Nothing that a user wrote is ignored: an unknown kind, field or value is a permanent refusal that
names it, made before anything is recorded.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from dra_node_agent.core.record import Refused
from dra_shared.kube.claims import DeviceAllocationConfiguration

_SOURCES: Final = ("FromClass", "FromClaim")
"""Lowest first: what a claim says goes over what its class says (KEP-4381)."""


class OpaqueConfig(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """A part of a driver's configuration: fields that it does not have are refused."""


class ResolvedConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A decoded configuration and the requests that it is for; none: for all."""

    requests: tuple[str, ...]
    config: OpaqueConfig


Kinds = Mapping[tuple[str, str], type[OpaqueConfig]]
"""What a driver understands: configuration types by apiVersion and kind."""


def decode_configs(
    driver: str, kinds: Kinds, entries: Sequence[DeviceAllocationConfiguration]
) -> tuple[ResolvedConfig, ...] | Refused:
    """The driver's own entries, lowest precedence first: class before claim, then list order."""
    resolved: list[ResolvedConfig] = []
    for entry in sorted(entries, key=_rank):
        if entry.opaque is not None and entry.opaque.driver != driver:
            continue
        if entry.source not in _SOURCES:
            return _refused(f"its source is {entry.source!r}, not one of {', '.join(_SOURCES)}")
        if entry.opaque is None:
            return _refused("it has no opaque parameters")
        config = _decode(kinds, entry.opaque.parameters or {})
        if isinstance(config, Refused):
            return config
        resolved.append(ResolvedConfig(requests=entry.requests or (), config=config))
    return tuple(resolved)


def config_for(request: str, configs: Sequence[ResolvedConfig]) -> OpaqueConfig | None:
    """The last one that names the request, or its parent, or no request at all."""
    names = {request, request.partition("/")[0]}
    matching = [entry for entry in configs if not entry.requests or names & set(entry.requests)]
    return matching[-1].config if matching else None


def _rank(entry: DeviceAllocationConfiguration) -> int:
    return _SOURCES.index(entry.source) if entry.source in _SOURCES else len(_SOURCES)


def _decode(kinds: Kinds, parameters: Mapping[str, Any]) -> OpaqueConfig | Refused:
    version, kind = str(parameters.get("apiVersion", "")), str(parameters.get("kind", ""))
    known = kinds.get((version, kind))
    if known is None:
        offered = ", ".join(f"{v} {k}" for v, k in kinds) or "no configuration at all"
        return _refused(f"its kind is {version!r} {kind!r}, this driver knows {offered}")
    fields = {key: value for key, value in parameters.items() if key not in {"apiVersion", "kind"}}
    try:
        return msgspec.convert(fields, known)
    except msgspec.ValidationError as error:
        return _refused(f"{kind}: {error}")


def _refused(why: str) -> Refused:
    return Refused(cause=f"the claim's configuration cannot be used: {why}", permanent=True)
