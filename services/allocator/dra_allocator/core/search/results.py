"""The answer in the API's words: results, configuration and node selector of each claim.

What each result costs is frozen beside it, so that nobody has to ask today's slices later.
"""

from collections.abc import Callable, Iterator, Sequence

import msgspec

from dra_allocator.core.search.constraints import State
from dra_allocator.core.search.devices import PoolDevice, cost_of
from dra_allocator.core.search.features import Feature
from dra_allocator.core.search.nodes import one_node
from dra_allocator.core.search.outcome import ClaimError, ErrorKind, FoundClaim
from dra_allocator.core.search.plan import Alternative, PlannedClaim, Problem
from dra_allocator.core.search.trial import Taken
from dra_shared.events.allocations import Cost
from dra_shared.kube.claims import (
    AllocationResult,
    DeviceAllocationConfiguration,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
)
from dra_shared.kube.meta import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from dra_shared.quantity import Quantity


class Chosen(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A device that a request gets. `states`: the claim's constraints with it."""

    alternative: Alternative
    device: PoolDevice
    states: tuple[State, ...]
    taken: Taken


def build_claims(
    problem: Problem,
    planned: Sequence[PlannedClaim],
    chosen: Sequence[Chosen],
    share_id: Callable[[int], str],
) -> tuple[FoundClaim, ...]:
    """Give what each claim gets. Raises ClaimError if a slice's node selector cannot be merged."""
    shares = iter(range(len(chosen)))
    built = [(one, share_id(next(shares)) if one.device.shareable else None) for one in chosen]
    return tuple(
        _build(problem, claim, [one for one in built if one[0].alternative.claim == number])
        for number, claim in enumerate(planned)
    )


def _build(
    problem: Problem, claim: PlannedClaim, built: Sequence[tuple[Chosen, str | None]]
) -> FoundClaim:
    chosen = [one for one, _ in built]
    return FoundClaim(
        allocation=AllocationResult(
            devices=DeviceAllocationResult(
                results=tuple(_result(problem, one, share) for one, share in built) or None,
                config=tuple(_configuration(claim, chosen)) or None,
            ),
            node_selector=_node_selector(problem, chosen),
        ),
        costs=tuple(_cost(one, share) for one, share in built),
    )


def _texts(consumed: dict[str, Quantity]) -> dict[str, str]:
    return {name: str(amount) for name, amount in consumed.items()}


def _cost(one: Chosen, share: str | None) -> Cost:
    if one.alternative.admin:
        return Cost(device=one.device.id, share_id=share, admin=True)
    return cost_of(one.device, share, _texts(one.taken.consumed))


def _result(problem: Problem, one: Chosen, share: str | None) -> DeviceRequestAllocationResult:
    device = one.device.device
    binding = Feature.BINDING_CONDITIONS in problem.features
    return DeviceRequestAllocationResult(
        request=one.alternative.name,
        driver=one.device.id.driver,
        pool=one.device.id.pool,
        device=one.device.id.device,
        admin_access=one.alternative.admin or None,
        tolerations=one.alternative.wish.tolerations or None,
        binding_conditions=(device.binding_conditions or None) if binding else None,
        binding_failure_conditions=(device.binding_failure_conditions or None) if binding else None,
        share_id=share,
        consumed_capacity=_texts(one.taken.consumed) or None,
        skip_node_operations=one.device.slice.spec.skip_node_operations or None,
    )


def _configuration(
    claim: PlannedClaim, chosen: Sequence[Chosen]
) -> Iterator[DeviceAllocationConfiguration]:
    """Give class configs, then claim configs; those that concern every request name none."""
    picked = [one.alternative for one in _picked(claim, chosen)]
    for configuration in (*_class_configs(picked), *_claim_configs(claim, picked)):
        named = configuration.requests or ()
        if all(one.request in named or one.name in named for one in picked):
            yield msgspec.structs.replace(configuration, requests=None)
        else:
            yield configuration


def _picked(claim: PlannedClaim, chosen: Sequence[Chosen]) -> Iterator[Chosen]:
    """Give one choice for each request, in the claim's order."""
    first: dict[str, Chosen] = {}
    for one in chosen:
        first.setdefault(one.alternative.request, one)
    yield from (first[request.name] for request in claim.requests if request.name in first)


def _class_configs(picked: Sequence[Alternative]) -> Iterator[DeviceAllocationConfiguration]:
    by_class: dict[str, list[Alternative]] = {}
    for alternative in picked:
        by_class.setdefault(alternative.device_class.metadata.name, []).append(alternative)
    for users in by_class.values():
        for configuration in users[0].device_class.spec.config or ():
            yield DeviceAllocationConfiguration(
                source="FromClass",
                requests=tuple(user.name for user in users),
                opaque=configuration.opaque,
            )


def _claim_configs(
    claim: PlannedClaim, picked: Sequence[Alternative]
) -> Iterator[DeviceAllocationConfiguration]:
    names = {name for one in picked for name in (one.request, one.name)}
    for configuration in claim.claim.spec.devices.config or ():
        requests = configuration.requests or None
        if requests is None or not names.isdisjoint(requests):
            yield DeviceAllocationConfiguration(
                source="FromClaim", requests=requests, opaque=configuration.opaque
            )


def _node_selector(problem: Problem, chosen: Sequence[Chosen]) -> NodeSelector | None:
    """Give where the claim can be used: this node, what the selectors of its slices say, anywhere.

    Requirements of several selectors are merged into one term (KEP-4381).
    """
    fields: dict[tuple[object, ...], NodeSelectorRequirement] = {}
    expressions: dict[tuple[object, ...], NodeSelectorRequirement] = {}
    for one in chosen:
        spec, device = one.device.slice.spec, one.device.device
        where = device if spec.per_device_node_selection else spec
        if where.node_name is not None or device.binds_to_node:
            return one_node(problem.node.name)
        terms = where.node_selector.node_selector_terms if where.node_selector else ()
        if len(terms) > 1:
            message = f"device {one.device.id} has a node selector of {len(terms)} terms"
            raise ClaimError(ErrorKind.NODE_SELECTOR, message)
        for term in terms:
            _add_new(term.match_fields or (), fields)
            _add_new(term.match_expressions or (), expressions)
    if not fields and not expressions:
        return None
    term = NodeSelectorTerm(
        match_expressions=tuple(expressions.values()) or None,
        match_fields=tuple(fields.values()) or None,
    )
    return NodeSelector(node_selector_terms=(term,))


def _add_new(
    requirements: Sequence[NodeSelectorRequirement],
    known: dict[tuple[object, ...], NodeSelectorRequirement],
) -> None:
    for one in requirements:
        known.setdefault((one.key, one.operator, frozenset(one.values or ())), one)
