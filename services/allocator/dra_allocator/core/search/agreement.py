"""Whether one more device goes with those that a claim has: all constraints of the claim at once."""

from collections import Counter
from collections.abc import Sequence

from dra_allocator.core.search.attributes import Values, find_attribute, values_of
from dra_allocator.core.search.constraints import Constraint, State
from dra_allocator.core.search.devices import PoolDevice
from dra_allocator.core.search.features import Feature
from dra_allocator.core.search.outcome import ClaimError, ErrorKind
from dra_allocator.core.search.plan import Alternative, PlannedClaim, Problem
from dra_allocator.core.search.selectors import SelectorError

States = tuple[State, ...]
"""The states of a claim's constraints, in their order."""


class Agreement:
    """The constraints of all claims of a problem."""

    def __init__(self, problem: Problem, planned: Sequence[PlannedClaim]) -> None:
        self._problem = problem
        self._planned = planned
        self._lists = Feature.LIST_ATTRIBUTES in problem.features
        self._known: dict[tuple[PoolDevice, str], Values | None] = {}

    def admit(self, wanted: Alternative, device: PoolDevice, states: States) -> States | None:
        """Give the states with one more device of a request; None if a constraint forbids it.

        Raises ClaimError in mode All, where no other choice is left, and where a derived attribute
        cannot be worked out.
        """
        if not wanted.constraints:
            return states
        after = list(states)
        for number in wanted.constraints:
            constraint = self._constraint(wanted, number)
            values = self._values(wanted, device, constraint.attribute)
            after[number] = constraint.admit(states[number], values, lists=self._lists)
            if after[number] is None and wanted.count is None:
                message = f"{wanted.name} asks for all devices, but {device.id} does not go with the others by {constraint.attribute}"
                raise ClaimError(ErrorKind.CONSTRAINT, message)
            if after[number] is None:
                return None
        return tuple(after)

    def most(self, wanted: Alternative, devices: Sequence[PoolDevice], states: States) -> int:
        """Give a bound: no more of these devices can be added. Not for derived attributes."""
        bound = len(devices)
        for number in wanted.constraints:
            constraint = self._constraint(wanted, number)
            admitted = [
                values
                for device in devices
                if (values := self._values(wanted, device, constraint.attribute)) is not None
                and constraint.admit(states[number], values, lists=self._lists) is not None
            ]
            bound = min(bound, _most(constraint, admitted))
        return bound

    def _constraint(self, wanted: Alternative, number: int) -> Constraint:
        return self._planned[wanted.claim].constraints[number]

    def _values(self, wanted: Alternative, device: PoolDevice, name: str) -> Values | None:
        """Give the values of a device's attribute: derived ones come first (KEP-5942)."""
        expression = wanted.derived.get(name)
        if expression is not None:
            return self._derived(expression, device, name)
        key = (device, name)
        if key not in self._known:
            attribute = find_attribute(device.device, device.id.driver, name)
            values = None if attribute is None else values_of(attribute, lists=self._lists)
            self._known[key] = values
        return self._known[key]

    def _derived(self, expression: str, device: PoolDevice, name: str) -> Values:
        try:
            return self._problem.selectors.derive(expression, device)
        except SelectorError as error:
            message = f"derived attribute {name} of device {device.id}: {error}"
            raise ClaimError(ErrorKind.DERIVED_ATTRIBUTE, message) from error


def _most(constraint: Constraint, admitted: Sequence[Values]) -> int:
    """Give how many devices may share a value, or how many values there are to be distinct by."""
    counts = Counter(value for values in admitted for value in values)
    if constraint.distinct:
        return min(len(admitted), len(counts))
    return max(counts.values(), default=0)
