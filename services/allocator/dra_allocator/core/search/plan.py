"""What the claims of a pod ask for, checked and made ready to be searched.

The checks are those that upstream makes before it searches. A plan depends on claims, classes and
features alone, so it holds for all nodes and may be kept; `locate_all` then looks at the pools of
one node. Nothing here knows what is in use.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from dra_allocator.core.search.candidates import candidates
from dra_allocator.core.search.constraints import Constraint, read_constraint
from dra_allocator.core.search.features import Feature, Features
from dra_allocator.core.search.in_use import InUse
from dra_allocator.core.search.nodes import NodeView
from dra_allocator.core.search.outcome import ClaimError, ErrorKind
from dra_allocator.core.search.pools import Pool, PoolFault
from dra_allocator.core.search.selectors import Selectors
from dra_allocator.core.search.shapes import AnyRequest, RequestShape, shape_of
from dra_shared.ids import DeviceId
from dra_shared.kube.claims import (
    MAX_RESULTS,
    DeviceClass,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
)
from dra_shared.quantity import QuantityError, parse_quantity

Twins = Mapping[DeviceId, tuple[DeviceId, ...]]
NO_TWINS: Final[Twins] = MappingProxyType({})

EXACT_COUNT: Final = "ExactCount"
ALL: Final = "All"


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """All that a search looks at: one node, its pools, what is in use, the claims of one pod.

    `twins`: devices of other drivers that are the same card as a device, where that matters.
    """

    node: NodeView
    pools: tuple[Pool, ...]
    claims: tuple[ResourceClaim, ...]
    classes: Mapping[str, DeviceClass]
    in_use: InUse
    features: Features
    selectors: Selectors
    twins: Twins = NO_TWINS


class Place(msgspec.Struct, frozen=True):
    """A device by its position: which pool of the problem, which device of the pool."""

    pool: int
    device: int


class Alternative(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A request, or one alternative of it, ready to be searched.

    `request` and `name` as they stand in results: "gpu" and "gpu", or "gpu" and "gpu/large".
    `count` is None in mode All. `constraints`: numbers of those that concern it.
    """

    claim: int
    request: str
    name: str
    wish: AnyRequest
    device_class: DeviceClass
    shape: RequestShape
    count: int | None
    admin: bool
    derived: dict[str, str]
    constraints: tuple[int, ...]


class PlannedRequest(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A request: its alternatives in order of preference; `chooses` if it is a firstAvailable."""

    name: str
    alternatives: tuple[Alternative, ...]
    chooses: bool


class PlannedClaim(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A claim with its requests and constraints read."""

    claim: ResourceClaim
    requests: tuple[PlannedRequest, ...]
    constraints: tuple[Constraint, ...]


AllPlaces = Mapping[Alternative, tuple[Place, ...]]
"""The devices that each request of mode All must get."""


def plan_claims(problem: Problem) -> tuple[PlannedClaim, ...]:
    """Give the claims made ready; neither node, pools nor use are looked at.

    Raises ClaimError for claims that no node can satisfy as they are written.
    """
    return tuple(_plan(problem, index) for index in range(len(problem.claims)))


def locate_all(problem: Problem, planned: tuple[PlannedClaim, ...]) -> AllPlaces:
    """Give the devices of all requests of mode All, even of alternatives that may not be needed.

    Raises ClaimError if they cannot be known on this node, or if a claim needs too many devices.
    """
    places: dict[Alternative, tuple[Place, ...]] = {}
    for claim in planned:
        every = [one for request in claim.requests for one in request.alternatives]
        places |= {one: tuple(_all_places(problem, one)) for one in every if one.count is None}
        least = sum(_fewest(request, places) for request in claim.requests)
        if least > MAX_RESULTS:
            name = claim.claim.metadata.name
            message = f"claim {name} needs {least} devices, more than {MAX_RESULTS}"
            raise ClaimError(ErrorKind.TOO_MANY_DEVICES, message)
    return places


def _fewest(request: PlannedRequest, places: AllPlaces) -> int:
    return min(len(places[one]) if one.count is None else one.count for one in request.alternatives)


def _plan(problem: Problem, index: int) -> PlannedClaim:
    claim = problem.claims[index]
    devices = claim.spec.devices
    name = claim.metadata.name
    constraints = tuple(
        _constraint(name, number, read_constraint(constraint))
        for number, constraint in enumerate(devices.constraints or ())
    )
    requests = tuple(
        PlannedRequest(
            name=request.name,
            alternatives=tuple(_alternatives(problem, index, request, constraints)),
            chooses=request.first_available is not None,
        )
        for request in devices.requests or ()
    )
    return PlannedClaim(claim=claim, requests=requests, constraints=constraints)


def _constraint(claim: str, number: int, constraint: Constraint | None) -> Constraint:
    if constraint is None:
        message = f"claim {claim}, constraint #{number} is of no known kind"
        raise ClaimError(ErrorKind.MALFORMED, message)
    return constraint


def _alternatives(
    problem: Problem,
    index: int,
    request: DeviceRequest,
    constraints: tuple[Constraint, ...],
) -> Iterator[Alternative]:
    where = f"claim {problem.claims[index].metadata.name}, request {request.name}"
    if not request.first_available:
        wish = request.exactly or ExactDeviceRequest()
        yield _alternative(problem, index, (request.name, request.name), wish, constraints)
        return
    if Feature.PRIORITIZED_LIST not in problem.features:
        raise ClaimError(ErrorKind.FEATURE_OFF, f"{where} has alternatives, which are off")
    for sub in request.first_available:
        names = (request.name, f"{request.name}/{sub.name}")
        yield _alternative(problem, index, names, sub, constraints)


def _alternative(
    problem: Problem,
    index: int,
    names: tuple[str, str],
    wish: AnyRequest,
    constraints: tuple[Constraint, ...],
) -> Alternative:
    where = f"claim {problem.claims[index].metadata.name}, request {names[1]}"
    _check_features(where, wish, problem.features)
    device_class = _class_of(where, wish, problem.classes)
    _check_readable(where, wish, device_class)
    return Alternative(
        claim=index,
        request=names[0],
        name=names[1],
        wish=wish,
        device_class=device_class,
        shape=shape_of(wish, device_class),
        count=None if wish.allocation_mode == ALL else wish.count,
        admin=isinstance(wish, ExactDeviceRequest) and bool(wish.admin_access),
        derived={derived.name: derived.expression for derived in wish.derived_attributes or ()},
        constraints=tuple(
            number for number, constraint in enumerate(constraints) if constraint.concerns(*names)
        ),
    )


def _check_features(where: str, wish: AnyRequest, features: Features) -> None:
    asked = {
        Feature.CONSUMABLE_CAPACITY: wish.capacity is not None,
        Feature.DERIVED_ATTRIBUTES: bool(wish.derived_attributes),
        Feature.ADMIN_ACCESS: isinstance(wish, ExactDeviceRequest)
        and wish.admin_access is not None,
    }
    for feature, used in asked.items():
        if used and feature not in features:
            raise ClaimError(ErrorKind.FEATURE_OFF, f"{where} needs {feature}, which is off")


def _class_of(where: str, wish: AnyRequest, classes: Mapping[str, DeviceClass]) -> DeviceClass:
    name = wish.device_class_name
    if not name:
        raise ClaimError(ErrorKind.MALFORMED, f"{where} names no device class")
    if name not in classes:
        raise ClaimError(ErrorKind.CLASS_MISSING, f"{where}: there is no DeviceClass {name}")
    return classes[name]


def _check_readable(where: str, wish: AnyRequest, device_class: DeviceClass) -> None:
    """Refuse what a later release of the API may allow and this one cannot read."""
    if wish.allocation_mode not in {EXACT_COUNT, ALL}:
        message = f"{where}: allocation mode {wish.allocation_mode} is not known"
        raise ClaimError(ErrorKind.MALFORMED, message)
    selectors = (*(device_class.spec.selectors or ()), *(wish.selectors or ()))
    if any(selector.cel is None for selector in selectors):
        raise ClaimError(ErrorKind.MALFORMED, f"{where} has a selector of no known kind")
    try:
        for text in (wish.capacity.requests if wish.capacity else {}).values():
            parse_quantity(text)
    except QuantityError as error:
        raise ClaimError(ErrorKind.MALFORMED, f"{where}: {error}") from error


def _all_places(problem: Problem, alternative: Alternative) -> Iterator[Place]:
    where = f"claim {problem.claims[alternative.claim].metadata.name}, request {alternative.name}"
    for number, pool in enumerate(problem.pools):
        if pool.fault is not None:
            kind = (
                ErrorKind.POOL_INCOMPLETE
                if pool.fault is PoolFault.INCOMPLETE
                else ErrorKind.POOL_INVALID
            )
            message = f"{where} asks for all devices, but pool {pool.id} is {pool.fault}"
            raise ClaimError(kind, f"{message}: {pool.fault_detail}")
        found = candidates(pool, alternative.shape, problem.selectors)
        for error in found.errors.values():
            raise error
        for place in range(len(pool.devices)):
            if found.selected >> place & 1:
                yield Place(number, place)
