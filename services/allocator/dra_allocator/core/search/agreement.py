"""Whether one more device goes with those that a claim has: all constraints of the claim at once."""

from dra_allocator.core.search.attributes import Values, find_attribute, values_of
from dra_allocator.core.search.constraints import State
from dra_allocator.core.search.devices import PoolDevice
from dra_allocator.core.search.features import Feature
from dra_allocator.core.search.outcome import ClaimError, ErrorKind
from dra_allocator.core.search.plan import Alternative, PlannedClaim, Problem
from dra_allocator.core.search.selectors import SelectorError

States = tuple[State, ...]
"""The states of a claim's constraints, in their order."""


def admit(
    problem: Problem, claim: PlannedClaim, chosen: tuple[Alternative, PoolDevice], states: States
) -> States | None:
    """Give the states with one more device, chosen for an alternative; None if one forbids it.

    Raises ClaimError in mode All, where no other choice is left, and where a derived attribute
    cannot be worked out.
    """
    alternative, device = chosen
    if not alternative.constraints:
        return states
    lists = Feature.LIST_ATTRIBUTES in problem.features
    after = list(states)
    for number in alternative.constraints:
        name = claim.constraints[number].attribute
        values = _values(problem, alternative, device, name)
        after[number] = claim.constraints[number].admit(states[number], values, lists=lists)
        if after[number] is None and alternative.count is None:
            message = f"{alternative.name} asks for all devices, but {device.id} does not go with the others by {name}"
            raise ClaimError(ErrorKind.CONSTRAINT, message)
        if after[number] is None:
            return None
    return tuple(after)


def _values(
    problem: Problem, alternative: Alternative, device: PoolDevice, name: str
) -> Values | None:
    """Give the values of a device's attribute: derived ones come first (KEP-5942)."""
    expression = alternative.derived.get(name)
    if expression is None:
        attribute = find_attribute(device.device, device.id.driver, name)
        lists = Feature.LIST_ATTRIBUTES in problem.features
        return None if attribute is None else values_of(attribute, lists=lists)
    try:
        return problem.selectors.derive(expression, device)
    except SelectorError as error:
        message = f"derived attribute {name} of device {device.id}: {error}"
        raise ClaimError(ErrorKind.DERIVED_ATTRIBUTE, message) from error
