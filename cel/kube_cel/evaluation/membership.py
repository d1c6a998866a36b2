"""``x in [constants]``: one look into a set, free of charge."""

from typing import Final

from kube_cel.evaluation.frame import Evaluate, Failure, Frame
from kube_cel.evaluation.plan import Plan, constant_plan
from kube_cel.values.maps import map_key
from kube_cel.values.numbers import Uint

_NUMBERS: Final = frozenset({int, Uint, float})
_IN_SETS: Final = frozenset({int, Uint, float, str, bool})


def plan_membership(element: Evaluate, elements: object) -> Plan | None:
    """The plan of ``element in elements``, None if the elements do not allow a set."""
    if not isinstance(elements, tuple):
        return None
    if not elements:
        return constant_plan(value=False)
    if any(candidate.__class__ not in _IN_SETS for candidate in elements):
        return None
    members = frozenset(map(member_key, elements))

    def run(frame: Frame) -> object:
        value = element(frame)
        kind = value.__class__
        if kind is str:
            return value in members
        if kind is Failure:
            return value
        return member_key(value) in members

    return Plan(run)


def member_key(value: object) -> object:
    """Numbers of all kinds are equal if Python says so, booleans are no numbers."""
    return value if value.__class__ in _NUMBERS else map_key(value)
