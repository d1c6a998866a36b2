"""Values that stay packed are the same as those that were read, whichever way somebody asks."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dra_allocator.core.fold.packed import DamagedSnapshotError, Packed, pack, pack_values, unpack
from dra_allocator.core.fold.register import Changes, Register
from dra_allocator.core.fold.registers import Placed

KEYS = st.sampled_from(["a", "b", "c", "d"])
VALUES = st.builds(Placed, node=st.text(max_size=3), claims=st.tuples(st.text(max_size=3)))
CONTENTS = st.dictionaries(KEYS, VALUES)
ASKED = st.sampled_from(["get", "items", "view", "parts", "digest", "recount", "put", "drop"])


class Node(msgspec.Struct):
    """Part of a Placed."""

    node: str


def packed(values: list[Placed]) -> Packed[Placed]:
    """The values as they come out of a snapshot."""
    return Packed(*pack_values(values), Placed)


def filled(contents: dict[str, Placed]) -> tuple[Register[str, Placed], Register[str, Placed]]:
    """Two registers with the same in them: values put in, and packed ones."""
    one: Register[str, Placed] = Register("placed", Changes())
    other: Register[str, Placed] = Register("placed", Changes())
    for key, value in contents.items():
        one.put(key, value)
    other.fill(contents, packed(list(contents.values())), one.digest())
    return one, other


def asked(register: Register[str, Placed], what: str, key: str, value: Placed) -> object:
    """What a register answers."""
    match what:
        case "get":
            return register.get(key), key in register, len(register), list(register)
        case "items":
            return dict(register.items())
        case "view":
            return dict(register.view)
        case "parts":
            return [part.node for part in register.parts(Node)]
        case "put":
            register.put(key, value)
        case "drop":
            register.drop(key)
        case "digest":
            return register.digest()
        case _:
            return register.recount()
    return None


@given(CONTENTS, st.lists(st.tuples(ASKED, KEYS, VALUES)))
def test_a_register_with_packed_values_answers_like_any_other(
    contents: dict[str, Placed], questions: list[tuple[str, str, Placed]]
) -> None:
    one, other = filled(contents)
    for what, key, value in questions:
        assert asked(one, what, key, value) == asked(other, what, key, value)


@given(CONTENTS, KEYS, VALUES)
def test_parts_are_those_of_when_they_were_asked_for(
    contents: dict[str, Placed], key: str, value: Placed
) -> None:
    for register in filled(contents):
        parts = register.parts(Node)
        register.put(key, value)
        register.drop("a")
        assert [part.node for part in parts] == [placed.node for placed in contents.values()]


@given(st.lists(VALUES, max_size=5))
def test_a_value_can_be_read_without_the_others(values: list[Placed]) -> None:
    together = packed(values)
    assert [together.one(place) for place in range(len(values))] == values == together.all()


def test_what_was_not_packed_is_noticed() -> None:
    with pytest.raises(DamagedSnapshotError):
        unpack(b"no zlib", list[str])
    with pytest.raises(DamagedSnapshotError):
        unpack(pack(["a", 1]), list[str])
    sizes, stored = pack_values([Placed("n", ())])
    for wrong in (stored[:-9], pack([1])):
        damaged: Packed[Placed] = Packed(sizes, wrong, Placed)
        with pytest.raises(DamagedSnapshotError):
            damaged.all()
        with pytest.raises(DamagedSnapshotError):
            damaged.one(0)
