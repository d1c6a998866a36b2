"""Is this allocation sound? Slow, and written from the rules of the API, not from the search.

It shares with the search only the shapes of Kubernetes, exact quantities and the CEL engine.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

import msgspec
from unit.allocator.search import rules

import kube_cel
from dra_allocator.core.search.features import Feature, Features
from dra_allocator.core.search.nodes import NodeView, selector_picks
from dra_shared.events.allocations import Cost
from dra_shared.kube.claims import (
    AllocationResult,
    DeviceClass,
    DeviceConstraint,
    DeviceRequest,
    DeviceRequestAllocationResult,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaim,
)
from dra_shared.kube.devices import Device, DeviceAttribute, ResourceSlice

Wish = ExactDeviceRequest | DeviceSubRequest
Result = DeviceRequestAllocationResult
Key = tuple[str, str, str]


class Case(NamedTuple):
    """What was known when the claims were decided."""

    node: NodeView
    slices: tuple[ResourceSlice, ...]
    classes: tuple[DeviceClass, ...]
    claims: tuple[ResourceClaim, ...]
    in_use: tuple[Cost, ...]
    features: Features

    def has(self, feature: Feature) -> bool:
        return feature in self.features

    def pools(self) -> dict[tuple[str, str], list[ResourceSlice]]:
        partitionable = self.has(Feature.PARTITIONABLE_DEVICES)
        return rules.sound_pools(self.slices, self.node, partitionable=partitionable)


class Found(NamedTuple):
    """A device and the slice that it is in."""

    slice: ResourceSlice
    device: Device

    @property
    def key(self) -> Key:
        return self.slice.spec.driver, self.slice.spec.pool.name, self.device.name


class Given(NamedTuple):
    """A result with what it was given for."""

    claim: int
    request: DeviceRequest
    wish: Wish
    result: Result
    found: Found

    @property
    def admin(self) -> bool:
        return isinstance(self.wish, ExactDeviceRequest) and bool(self.wish.admin_access)


def violations(case: Case, allocations: Sequence[AllocationResult]) -> list[str]:
    """All rules that the allocations break; none for a sound answer."""
    try:
        given = list(_given(case, allocations))
    except LookupError as error:
        return [f"no such thing: {error}"]
    found = [
        *_request_violations(case, given, len(allocations)),
        *(text for one in given for text in _device_violations(case, one)),
        *_sharing_violations(case, given),
        *_counter_violations(case, given),
        *_constraint_violations(case, given),
    ]
    for allocation in allocations:
        selector = allocation.node_selector
        if selector is not None and not selector_picks(selector, case.node):
            found.append("the node selector does not pick the node")
    return found


def visible_devices(case: Case) -> Iterator[Found]:
    """All devices of whole, sound pools that the node can reach."""
    for slice_ in (slice_ for pool in case.pools().values() for slice_ in pool):
        for device in slice_.spec.devices or ():
            where = device if slice_.spec.per_device_node_selection else slice_.spec
            if rules.reaches(where, case.node):
                yield Found(slice_, device)


def selectable(case: Case, wish: Wish, found: Found) -> bool:
    """Whether selectors, binding conditions and size let the device serve the request."""
    if found.device.binding_conditions and not case.has(Feature.BINDING_CONDITIONS):
        return False
    device_class = _class_of(case, wish)
    texts = [
        selector.cel.expression
        for selectors in (device_class.spec.selectors, wish.selectors)
        for selector in selectors or ()
        if selector.cel
    ]
    shown = kube_cel.device_from(
        found.slice.spec.driver,
        msgspec.to_builtins(found.device.attributes or {}),
        msgspec.to_builtins(found.device.capacity or {}),
        allow_multiple_allocations=found.device.allow_multiple_allocations,
    )
    environment = kube_cel.Environment(stored=True)
    if not all(environment.compile(text).matches(shown) for text in texts):
        return False
    return not case.has(Feature.CONSUMABLE_CAPACITY) or consumed(case, wish, found) is not None


def consumed(case: Case, wish: Wish, found: Found) -> dict[str, Fraction] | None:
    """What the request takes of every capacity; None if the device can never give that."""
    wanted = {
        name: rules.number(text)
        for name, text in (wish.capacity.requests if wish.capacity else {}).items()
    }
    capacities = found.device.capacity or {}
    if set(wanted) - set(capacities):
        return None
    taken = {
        name: rules.taken(capacity, wanted.get(name), milli=case.has(Feature.FRACTIONAL_CAPACITY))
        for name, capacity in capacities.items()
    }
    if any(amount is None for amount in taken.values()):
        return None
    return {name: amount for name, amount in taken.items() if amount is not None}


def shareable(case: Case, device: Device) -> bool:
    return case.has(Feature.CONSUMABLE_CAPACITY) and bool(device.allow_multiple_allocations)


def _given(case: Case, allocations: Sequence[AllocationResult]) -> Iterator[Given]:
    devices = {found.key: found for found in visible_devices(case)}
    for number, allocation in enumerate(allocations):
        requests = {one.name: one for one in case.claims[number].spec.devices.requests or ()}
        for result in allocation.devices.results or ():
            request = requests[result.request.partition("/")[0]]
            found = devices[result.driver, result.pool, result.device]
            yield Given(number, request, _wish_of(request, result.request), result, found)


def _wish_of(request: DeviceRequest, name: str) -> Wish:
    if request.exactly is not None and name == request.name:
        return request.exactly
    named = [sub for sub in request.first_available or () if f"{request.name}/{sub.name}" == name]
    if len(named) != 1:
        raise LookupError(name)
    return named[0]


def _class_of(case: Case, wish: Wish) -> DeviceClass:
    return next(one for one in case.classes if one.metadata.name == wish.device_class_name)


def _request_violations(case: Case, given: list[Given], claims: int) -> Iterator[str]:
    for number in range(claims):
        of_claim = [one for one in given if one.claim == number]
        if len(of_claim) > 32:
            yield "more than 32 results"
        for request in case.claims[number].spec.devices.requests or ():
            results = [one for one in of_claim if one.request.name == request.name]
            yield from _count_violations(case, request.name, results)


def _count_violations(case: Case, name: str, results: list[Given]) -> Iterator[str]:
    if len({one.result.request for one in results}) != 1:
        yield f"{name}: not exactly one alternative was chosen"
        return
    wish = results[0].wish
    keys = [one.found.key for one in results]
    if len(set(keys)) != len(keys):
        yield f"{name}: one device twice"
    if wish.allocation_mode == "All":
        everything = {one.key for one in visible_devices(case) if selectable(case, wish, one)}
        if set(keys) != everything:
            yield f"{name}: not all devices"
    elif len(keys) != wish.count:
        yield f"{name}: {len(keys)} devices instead of {wish.count}"


def _device_violations(case: Case, one: Given) -> Iterator[str]:
    device, result = one.found.device, one.result
    shared = shareable(case, device)
    expected = consumed(case, one.wish, one.found) if shared and not one.admin else {}
    recorded = {name: rules.number(q) for name, q in (result.consumed_capacity or {}).items()}
    broken = {
        "is not selectable": not selectable(case, one.wish, one.found),
        "is tainted": case.has(Feature.DEVICE_TAINTS) and not _tolerated(one.wish, device),
        "has not the admin access that was asked for": bool(result.admin_access) != one.admin,
        "has other tolerations": result.tolerations != (one.wish.tolerations or None),
        "has a share id on the wrong kind of device": (result.share_id is not None) != shared,
        "consumes other capacity than was asked for": recorded != expected,
        "needs a kubelet that skips operations": _is_unfit(case, one),
    }
    yield from (f"{device.name} {text}" for text, is_broken in broken.items() if is_broken)


def _is_unfit(case: Case, one: Given) -> bool:
    skipped = one.found.slice.spec.skip_node_operations or None
    on = case.has(Feature.OPTIONAL_NODE_OPERATIONS)
    honoured = on and "DRAOptionalNodeOperations" in case.node.declared_features
    return one.result.skip_node_operations != skipped or not (honoured or skipped is None)


def _tolerated(wish: Wish, device: Device) -> bool:
    for taint in device.taints or ():
        if taint.effect not in ("NoSchedule", "NoExecute"):
            continue
        fits = [
            one
            for one in wish.tolerations or ()
            if one.effect in ("", taint.effect)
            and one.key in ("", taint.key)
            and (one.operator == "Exists" or one.value == taint.value)
        ]
        if not fits:
            return False
    return True


def _sharing_violations(case: Case, given: list[Given]) -> Iterator[str]:
    held: dict[Key, list[Cost]] = defaultdict(list)
    for cost in case.in_use:
        if not cost.admin:
            held[cost.device.driver, cost.device.pool, cost.device.device].append(cost)
    for key in {one.found.key for one in given}:
        users = [one for one in given if one.found.key == key]
        yield from _holder_violations(case, users, held[key])
    for (claim, key), count in Counter((one.claim, one.found.key) for one in given).items():
        device = next(one.found.device for one in given if one.found.key == key)
        if count > 1 and not shareable(case, device):
            yield f"claim {claim} has {device.name} {count} times"


def _holder_violations(case: Case, users: list[Given], held: list[Cost]) -> Iterator[str]:
    device = users[0].found.device
    paying = [one for one in users if not one.admin]
    if not paying:
        return
    if any(cost.share_id is None for cost in held):
        yield f"{device.name} is held whole by others"
    if not shareable(case, device):
        if held or len(paying) > 1:
            yield f"{device.name} is handed out more than once"
        return
    for name, capacity in (device.capacity or {}).items():
        before = sum(rules.number(cost.capacity.get(name, "0")) for cost in held)
        now = sum(
            rules.number((one.result.consumed_capacity or {}).get(name, "0")) for one in paying
        )
        if before + now > rules.number(capacity.value):
            yield f"{device.name} is over its {name}"


def _counter_violations(case: Case, given: list[Given]) -> Iterator[str]:
    for (driver, pool), slices in case.pools().items():
        paying = {
            one.found.key: one.found.device
            for one in given
            if not one.admin and one.found.key[:2] == (driver, pool)
        }
        drawing = {key: device for key, device in paying.items() if device.consumes_counters}
        if drawing and not case.has(Feature.PARTITIONABLE_DEVICES):
            yield f"{pool}: counters are consumed while that is off"
        if drawing:
            held = [
                cost
                for cost in case.in_use
                if (cost.device.driver, cost.device.pool) == (driver, pool) and not cost.admin
            ]
            yield from _overdrawn(slices, drawing, held)
            yield from _clashes(drawing, held)


def _overdrawn(
    slices: list[ResourceSlice], drawing: dict[Key, Device], held: list[Cost]
) -> Iterator[str]:
    """Counters that are over their set because of the new devices, or were and are drawn on more."""
    before, after = _used(held, {}), _used(held, drawing)
    sets = [shared for one in slices for shared in one.spec.shared_counters or ()]
    limits = {(one.name, name): c.value for one in sets for name, c in one.counters.items()}
    for (set_name, name), limit in limits.items():
        if before != after and after[set_name, name] > rules.number(limit):
            yield f"counter {set_name}/{name} is overdrawn"


def _used(held: list[Cost], drawing: dict[Key, Device]) -> Counter[tuple[str, str]]:
    """What is taken of each counter; a device pays once, however many hold it."""
    paid: dict[tuple[Key, str, str], Fraction] = defaultdict(Fraction)
    for cost in held:
        key = (cost.device.driver, cost.device.pool, cost.device.device)
        for set_name, counters in cost.counters.items():
            for name, text in counters.items():
                place = (key, set_name, name)
                paid[place] = max(paid[place], rules.number(text))
    for key, device in drawing.items():
        for one in device.consumes_counters or ():
            for name, counter in one.counters.items():
                place = (key, one.counter_set, name)
                paid[place] = max(paid[place], rules.number(counter.value))
    total: Counter[tuple[str, str]] = Counter()
    for (_, set_name, name), amount in paid.items():
        total[set_name, name] += amount  # type: ignore[assignment] # a Counter of fractions
    return total


def _clashes(drawing: dict[Key, Device], held: list[Cost]) -> Iterator[str]:
    groups: dict[str, list[frozenset[str]]] = defaultdict(list)
    for cost in held:
        for set_name in cost.counters:
            groups[set_name].append(frozenset(cost.compatibility_groups.get(set_name, ())))
    for device in drawing.values():
        for one in device.consumes_counters or ():
            groups[one.counter_set].append(frozenset(one.compatibility_groups or ()))
    for set_name, members in groups.items():
        if not frozenset.intersection(*members) and any(members):
            yield f"compatibility groups clash on {set_name}"


def _constraint_violations(case: Case, given: list[Given]) -> Iterator[str]:
    for number, claim in enumerate(case.claims):
        of_claim = [one for one in given if one.claim == number]
        for constraint in claim.spec.devices.constraints or ():
            if not _holds(case, constraint, of_claim):
                yield f"{constraint.match_attribute or constraint.distinct_attribute} is violated"


def _holds(case: Case, constraint: DeviceConstraint, of_claim: list[Given]) -> bool:
    names = constraint.requests or ()
    attribute = constraint.match_attribute or constraint.distinct_attribute or ""
    values = [
        _values(case, one, attribute)
        for one in of_claim
        if not names or one.request.name in names or one.result.request in names
    ]
    if not values or not all(values):
        return not values
    if constraint.match_attribute:
        return bool(frozenset.intersection(*values))
    return len(frozenset().union(*values)) == sum(len(one) for one in values)


def _values(case: Case, one: Given, name: str) -> frozenset[tuple[str, object]]:
    for derived in one.wish.derived_attributes or ():
        if derived.name == name:
            return _derived(one, derived.expression)
    attributes = one.found.device.attributes or {}
    domain, _, identifier = name.partition("/")
    attribute = attributes.get(name)
    if attribute is None and domain == one.found.slice.spec.driver:
        attribute = attributes.get(identifier)
    return frozenset() if attribute is None else _static(case, attribute)


def _static(case: Case, attribute: DeviceAttribute) -> frozenset[tuple[str, object]]:
    values: dict[str, object] = msgspec.to_builtins(attribute)
    for kind, value in values.items():
        if isinstance(value, list | tuple):
            kept = value if case.has(Feature.LIST_ATTRIBUTES) else [object()]
            return frozenset((kind.removesuffix("s"), one) for one in kept)
    return frozenset(values.items())


def _derived(one: Given, expression: str) -> frozenset[tuple[str, object]]:
    shown = kube_cel.device_from(
        one.found.slice.spec.driver,
        msgspec.to_builtins(one.found.device.attributes or {}),
        msgspec.to_builtins(one.found.device.capacity or {}),
        allow_multiple_allocations=one.found.device.allow_multiple_allocations,
    )
    value = kube_cel.Environment(stored=True).compile(expression, "any").evaluate(shown).value
    several = value if isinstance(value, list | tuple) else [value]
    kinds = {bool: "bool", int: "int", str: "string"}
    return frozenset((kinds.get(type(one), "version"), one) for one in several)
