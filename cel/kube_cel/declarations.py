"""
How a function is declared: what the checker, the evaluator and the costs need of it.

A library is a tuple of these; declaration, implementation and costs of a function stand
in one entry. The assembly into the table of one environment is in ``environment``.
"""

from collections.abc import Callable, Iterable
from typing import Protocol, TypeAlias

import msgspec

from kube_cel.syntax import Node
from kube_cel.types import Type

Value: TypeAlias = object
Implementation: TypeAlias = Callable[..., Value]
RuntimeCost: TypeAlias = Callable[..., int]
"""Takes the arguments; any of them may be a failure, whose size is 1."""
ResultCost: TypeAlias = Callable[[Value], int]
"""Takes the result, for the few calls that are charged by it."""


class Size(msgspec.Struct, frozen=True, gc=False):
    """The least and the greatest size that a value can have."""

    low: int
    high: int


class CallSite(Protocol):
    """What an estimate may ask about the call before it; the target is argument 0."""

    def size(self, position: int) -> Size:
        """The size of an argument."""

    def known_size(self, position: int) -> Size | None:
        """The size of an argument, None if nothing is known of it."""

    def element_size(self, position: int) -> Size | None:
        """The size of the elements of an argument, None if it is not known to be a list."""

    def type(self, position: int) -> Type:
        """The type of an argument."""

    def node(self, position: int) -> Node:
        """The expression of an argument."""

    def count(self) -> int:
        """The number of arguments, the target included."""


Estimate: TypeAlias = Callable[[CallSite], tuple[int, Size | None]]
"""Gives the greatest cost of the call itself, and the size of its result if it tells."""


class Overload(msgspec.Struct, frozen=True, eq=False):
    """One signature of a function; ``member`` ones are called as ``params[0].name(rest)``."""

    id: str
    params: tuple[Type, ...]
    result: Type
    call: Implementation
    member: bool = False
    cost: RuntimeCost | None = None
    estimate: Estimate | None = None
    result_cost: ResultCost | None = None


class Function(msgspec.Struct, frozen=True, eq=False):
    """
    A name with its signatures.

    ``cost`` and ``estimate`` hold for all of them, also where the checker could not
    decide for one; those of a signature hold where it did.
    """

    name: str
    overloads: tuple[Overload, ...]
    cost: RuntimeCost | None = None
    estimate: Estimate | None = None
    since_lists: bool = False


def merged(functions: Iterable[Function]) -> dict[str, Function]:
    """A table by name; signatures that several libraries give to one name are joined."""
    table: dict[str, Function] = {}
    for function in functions:
        known = table.get(function.name)
        if known is not None:
            function = msgspec.structs.replace(  # noqa: PLW2901 - the joined one takes its place
                function,
                overloads=known.overloads + function.overloads,
                cost=known.cost or function.cost,
                estimate=known.estimate or function.estimate,
            )
        table[function.name] = function
    return table
