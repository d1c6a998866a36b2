"""
What an expression reads of a device, so that results can be shared between devices.

A leaf names one attribute or capacity, a whole domain of them, all of them, the driver or
the flag for multiple allocations. Two devices that agree in all leaves of a program, types
included, get the same answer from it at the same cost.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Final, TypeAlias

from kube_cel.checked import Checked
from kube_cel.device import Device, qualified
from kube_cel.syntax import Call, Comprehension, Ident, Literal, Node, Select
from kube_cel.values.maps import DomainMap

Leaf: TypeAlias = tuple[str, ...]
"""("driver",), ("multi",), ("attr", domain, id), ("attr", domain), ("attr",); "cap" likewise."""
Path: TypeAlias = tuple[str, ...]
"""Keys from the device down: ("attributes", domain, id), at most."""

Reader: TypeAlias = Callable[[Device], Hashable]

_KINDS: Final = {
    "attributes": "attr",
    "capacity": "cap",
    "driver": "driver",
    "allowMultipleAllocations": "multi",
}
_DEVICE: Final = ("device", ".device")
_OPTIONAL: Final = frozenset({"_[?_]", "_?._"})
_LEAF: Final = 3


def leaves(checked: Checked) -> frozenset[Leaf] | None:
    """What the expression reads, None if it may read everything."""
    reader = _Reader()
    reader.visit(checked.root, {})
    return None if () in reader.found else frozenset(reader.found)


def path_of(node: Node, names: Mapping[str, Path | None], *, strict: bool = False) -> Path | None:
    """
    Where in the device a chain leads, None if it does not start there.

    ``names`` says where bound names lead. A strict path has no optional links.
    """
    match node:
        case Ident(name=name):
            return names.get(name, () if name in _DEVICE else None)
        case Select(operand=operand, field=key):
            base = path_of(operand, names, strict=strict)
        case Call(function=function, args=(operand, Literal(value=str(key)))) if (
            function == "_[_]" or (function in _OPTIONAL and not strict)
        ):
            base = path_of(operand, names, strict=strict)
        case _:
            return None
    if base is None or len(base) >= _LEAF:
        return None if strict else base
    return (*base, key)


class _Reader:
    """Collects the paths at which an expression stops following the device."""

    def __init__(self) -> None:
        self.found: set[Leaf] = set()
        self._seen: set[int] = set()

    def visit(self, node: Node, names: Mapping[str, Path | None]) -> None:
        if node.id in self._seen:
            return
        self._seen.add(node.id)
        path = path_of(node, names)
        if path is not None:
            self._note(path)
            return
        match node:
            case Comprehension():
                self._visit_loop(node, names)
            case Call(function="@in", args=(Literal(value=str(key)), container)):
                inside = path_of(container, names)
                if inside is not None and len(inside) == _LEAF - 1:
                    self._note((*inside, key))
                else:
                    self.visit(container, names)
            case _:
                for child in node.children:
                    self.visit(child, names)

    def _visit_loop(self, node: Comprehension, names: Mapping[str, Path | None]) -> None:
        self.visit(node.range, names)
        inner = dict(names)
        inner[node.variable] = None
        if node.second_variable is not None:
            inner[node.second_variable] = None
        inner[node.accumulator] = path_of(node.init, names) if node.is_bind else None
        if inner[node.accumulator] is None:
            self.visit(node.init, names)
        if not node.is_bind:
            self.visit(node.condition, inner)
            self.visit(node.step, inner)
        self.visit(node.result, inner)

    def _note(self, path: Path) -> None:
        self.found.add((_KINDS.get(path[0], path[0]), *path[1:]) if path else ())


def readers(wanted: Iterable[Leaf]) -> tuple[Reader, ...]:
    """One function for each leaf, in a fixed order; together they give a key to compare by."""
    return tuple(_reader(leaf) for leaf in sorted(wanted))


def _reader(leaf: Leaf) -> Reader:
    match leaf:
        case ("driver",):
            return lambda device: device.driver
        case ("multi",):
            return lambda device: device.multiple
        case ("attr", domain, key):
            name = qualified(domain, key)
            return lambda device: _key(device.attributes.get(name))
        case ("cap", domain, key):
            name = qualified(domain, key)
            return lambda device: _key(device.capacity.get(name))
        case (kind, *rest):
            return lambda device: _key(_whole(device, kind, rest))
        case _:
            return lambda _device: None


def _whole(device: Device, kind: str, rest: list[str]) -> object:
    """All attributes or capacities, or those of one domain."""
    domains: Any = device.fields["attributes" if kind == "attr" else "capacity"]
    return domains.get(rest[0]) if rest else domains


def _key(value: Any) -> Hashable:
    """The value with its type: for Python 1, 1.0 and True are one key."""
    kind = value.__class__
    if kind is tuple:
        return (kind, *map(_key, value))
    if kind is dict or kind is DomainMap:
        return tuple((key, _key(inner)) for key, inner in value.items())
    return (kind, value)
