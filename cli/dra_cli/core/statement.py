"""The whole state at a place of the log, counted or in full."""

from collections.abc import Sequence
from typing import Any

import msgspec

from dra_cli.core.picture import Picture
from dra_cli.core.rows import Row


class RegisterRow(Row, frozen=True, kw_only=True):
    """How many entries one part of the state has."""

    part: str
    entries: int


def statement(picture: Picture) -> Sequence[RegisterRow]:
    """The parts of the state, counted."""
    rows = [
        RegisterRow(part=register.name.replace("_", " "), entries=len(register))
        for register in picture.registers.each()
    ]
    return [*rows, RegisterRow(part="agents", entries=len(picture.inventory.nodes))]


def document(picture: Picture) -> dict[str, Any]:
    """The state in full, as JSON types; keys of several parts are joined by `/`."""
    registers = {
        register.name: {_key(key): msgspec.to_builtins(value) for key, value in _sorted(register)}
        for register in picture.registers.each()
    }
    return {
        "sequence": picture.sequence,
        "allocator_hash": picture.allocator_hash,
        "inventory_hash": picture.inventory_hash,
        "registers": registers,
        "agents": msgspec.to_builtins(picture.inventory.nodes),
    }


def _sorted(register: Any) -> list[tuple[Any, Any]]:
    return sorted(register.items())


def _key(key: Any) -> str:
    return "/".join(key) if isinstance(key, tuple) else str(key)
