"""
Which expressions compile: the variables, types and functions that may be used.

An environment is a value; programs are cached by environment and text, failures as well.
"""

from collections import OrderedDict
from functools import cache
from typing import Final, Literal

import msgspec

from kube_cel.checked import Scope
from kube_cel.compiler import compile_program
from kube_cel.declarations import Function, merged
from kube_cel.errors import CompileError
from kube_cel.library import LIBRARIES
from kube_cel.program import Program
from kube_cel.types import ANY, BOOL, DEVICE, DYN, QUANTITY, STRING, map_of

_CACHE_SIZE: Final = 1_024
_cache: Final[OrderedDict[tuple[object, ...], Program | CompileError]] = OrderedDict()


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """
    The environment of DRA's device selectors.

    ``stored`` is what the scheduler compiles with, everything this release knows; without
    it, what the API server lets into a new object: there ``list_attributes`` and
    ``consumable_capacity`` say which feature gates are on.
    """

    stored: bool = True
    list_attributes: bool = False
    consumable_capacity: bool = True

    @property
    def attributes_may_be_lists(self) -> bool:
        """Whether an attribute's value is only known at run time."""
        return self.stored or self.list_attributes

    def compile(self, text: str, result: Literal["bool", "any"] = "bool") -> Program:
        """
        The program of an expression, from a cache if it was compiled before.

        Raises ``CompileError`` for an expression that can never be evaluated, or whose
        type is known and not bool, unless ``result`` is "any".
        """
        key = (self, text, result)
        known = _cache.get(key)
        if known is None:
            known = _cache[key] = self._compiled(text, result)
            if len(_cache) > _CACHE_SIZE:
                _cache.popitem(last=False)
        if isinstance(known, CompileError):
            raise known
        return known

    def _compiled(self, text: str, result: Literal["bool", "any"]) -> Program | CompileError:
        try:
            return compile_program(
                text,
                scope(self),
                any_result=result == "any",
                dyn_result=self.attributes_may_be_lists,
            )
        except CompileError as error:
            return error


@cache
def scope(environment: Environment) -> Scope:
    """What an expression in this environment may name."""
    value = DYN if environment.attributes_may_be_lists else ANY
    fields = {
        "driver": STRING,
        "attributes": map_of(STRING, map_of(STRING, value)),
        "capacity": map_of(STRING, map_of(STRING, QUANTITY)),
    }
    if environment.stored or environment.consumable_capacity:
        fields["allowMultipleAllocations"] = BOOL
    return Scope({"device": DEVICE}, {DEVICE: fields}, _functions(environment))


def _functions(environment: Environment) -> dict[str, Function]:
    lists = environment.attributes_may_be_lists
    return merged(
        function
        for library in LIBRARIES
        for function in library
        if lists or not function.since_lists
    )
