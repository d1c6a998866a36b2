"""What the claims of a pod ask for, checked and made ready to be searched.

The checks are those that upstream makes before it searches: what fails here fails on every node,
except that `All` looks at this node's pools. Nothing here knows what is in use.
"""

from collections.abc import Iterator, Mapping
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
from dra_allocator.core.search.shapes import AnyRequest, Candidates, RequestShape, shape_of
from dra_shared.kube.claims import (
    MAX_RESULTS,
    DeviceClass,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
)
from dra_shared.quantity import QuantityError, parse_quantity

EXACT_COUNT: Final = "ExactCount"
ALL: Final = "All"


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """All that a search looks at: one node, its pools, what is in use, the claims of one pod."""

    node: NodeView
    pools: tuple[Pool, ...]
    claims: tuple[ResourceClaim, ...]
    classes: Mapping[str, DeviceClass]
    in_use: InUse
    features: Features
    selectors: Selectors


class Place(msgspec.Struct, frozen=True):
    """A device by its position: which pool of the problem, which device of the pool."""

    pool: int
    device: int


class Alternative(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A request, or one alternative of it, ready to be searched.

    `request` and `name` as they stand in results: "gpu" and "gpu", or "gpu" and "gpu/large".
    `all_places` are the devices of mode All, None in mode ExactCount; `candidates` per pool.
    """

    claim: int
    request: str
    name: str
    wish: AnyRequest
    device_class: DeviceClass
    shape: RequestShape
    count: int
    admin: bool
    derived: dict[str, str]
    constraints: tuple[int, ...]
    all_places: tuple[Place, ...] | None = None


class PlannedRequest(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A request: its alternatives in order of preference; `chooses` if it is a firstAvailable."""

    name: str
    alternatives: tuple[Alternative, ...]
    chooses: bool

    @property
    def fewest(self) -> int:
        """The least number of devices that satisfies it."""
        return min(alternative.count for alternative in self.alternatives)


class PlannedClaim(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A claim with its requests and constraints read."""

    claim: ResourceClaim
    requests: tuple[PlannedRequest, ...]
    constraints: tuple[Constraint, ...]


def plan_claims(problem: Problem) -> tuple[PlannedClaim, ...]:
    """Give the claims made ready. Raises ClaimError for what upstream refuses before it searches."""
    return tuple(_plan(problem, index) for index in range(len(problem.claims)))


def candidates_of(problem: Problem, pool: int, alternative: Alternative) -> Candidates:
    """Give the candidates of one of the problem's pools."""
    return candidates(problem.pools[pool], alternative.shape, problem.selectors)


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
    if sum(request.fewest for request in requests) > MAX_RESULTS:
        message = f"claim {name} needs more than {MAX_RESULTS} devices"
        raise ClaimError(ErrorKind.TOO_MANY_DEVICES, message)
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
    alternative = Alternative(
        claim=index,
        request=names[0],
        name=names[1],
        wish=wish,
        device_class=device_class,
        shape=shape_of(wish, device_class),
        count=wish.count,
        admin=isinstance(wish, ExactDeviceRequest) and bool(wish.admin_access),
        derived={derived.name: derived.expression for derived in wish.derived_attributes or ()},
        constraints=tuple(
            number for number, constraint in enumerate(constraints) if constraint.concerns(*names)
        ),
    )
    if wish.allocation_mode == EXACT_COUNT:
        return alternative
    places = tuple(_all_places(where, problem, alternative))
    return msgspec.structs.replace(alternative, count=len(places), all_places=places)


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


def _all_places(where: str, problem: Problem, alternative: Alternative) -> Iterator[Place]:
    """Give all devices that a request of mode All must get, or say why that is not known."""
    for number, pool in enumerate(problem.pools):
        if pool.fault is not None:
            kind = (
                ErrorKind.POOL_INCOMPLETE
                if pool.fault is PoolFault.INCOMPLETE
                else ErrorKind.POOL_INVALID
            )
            message = f"{where} asks for all devices, but pool {pool.id} is {pool.fault}"
            raise ClaimError(kind, f"{message}: {pool.fault_detail}")
        found = candidates_of(problem, number, alternative)
        for error in found.errors.values():
            raise error
        for place in range(len(pool.devices)):
            if found.selected >> place & 1:
                yield Place(number, place)
