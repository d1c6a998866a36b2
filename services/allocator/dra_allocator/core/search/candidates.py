"""Which devices of a pool may serve a request's shape, whatever is in use.

The answer depends on pool and shape alone and is kept with the pool: an index over many pools can
be built on it.
"""

from typing import Final, NamedTuple

from dra_allocator.core.search.capacity import CapacityError, consumption
from dra_allocator.core.search.devices import PoolDevice
from dra_allocator.core.search.outcome import ClaimError, ErrorKind
from dra_allocator.core.search.pools import Pool
from dra_allocator.core.search.selectors import SelectorError, Selectors
from dra_allocator.core.search.shapes import Candidates, RequestShape
from dra_shared.events.allocations import ReasonKind
from dra_shared.kube.claims import DeviceToleration
from dra_shared.kube.devices import DeviceTaint
from dra_shared.quantity import Quantity, parse_quantity

MOST_SHAPES: Final = 64
"""Shapes whose candidates a pool remembers; beyond that the oldest is forgotten."""


class Verdict(NamedTuple):
    """Why a device may not serve a shape; `selected` if it is at least of the wanted kind."""

    reason: ReasonKind | None
    detail: str = ""
    selected: bool = False
    error: ClaimError | None = None
    consumed: dict[str, Quantity] | None = None


def candidates(pool: Pool, shape: RequestShape, selectors: Selectors) -> Candidates:
    """Give the candidates of a sound pool for a shape, from memory if they were asked for before."""
    known = pool.candidates.get(shape)
    if known is None:
        if len(pool.candidates) >= MOST_SHAPES:
            del pool.candidates[next(iter(pool.candidates))]
        known = pool.candidates[shape] = _work_out(pool, shape, selectors)
    return known


def judge(pool: Pool, place: int, shape: RequestShape, selectors: Selectors) -> Verdict:
    """Say why the device at this place of the pool may or may not serve the shape.

    In upstream's order, which decides whether an error is met: what is shown to selectors at all,
    class selectors, request selectors, nodes, capacity, then support and taints.
    """
    device = pool.devices[place]
    if device.hidden:
        return Verdict(ReasonKind.UNSUPPORTED, device.hidden)
    for where, expression in _expressions(shape):
        try:
            if not selectors.match(expression, device):
                return Verdict(ReasonKind.SELECTOR_FALSE, expression)
        except SelectorError as error:
            message = f"selector of the {where} on device {device.id}: {error}"
            failure = ClaimError(ErrorKind.SELECTOR, message)
            return Verdict(ReasonKind.SELECTOR_ERROR, str(error), error=failure)
    if not pool.here >> place & 1:
        return Verdict(ReasonKind.NODE_UNFIT, "the device belongs to other nodes")
    return _judge_selected(pool, place, device, shape)


def tolerates(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    """Say whether the toleration lets a request onto a device with the taint (KEP-5055)."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in {"", "Equal"} and toleration.value == taint.value


def _judge_selected(pool: Pool, place: int, device: PoolDevice, shape: RequestShape) -> Verdict:
    wanted = {name: parse_quantity(text) for name, text in shape.capacity}
    try:
        consumed = consumption(device.capacities, wanted) if device.capacities or wanted else {}
    except CapacityError as error:
        failure = ClaimError(ErrorKind.CAPACITY, f"device {device.id}: {error}")
        return Verdict(ReasonKind.CAPACITY, str(error), error=failure)
    if consumed is None:
        return Verdict(ReasonKind.CAPACITY, "too small, or its policy does not allow the request")
    if device.unsupported or pool.unfit >> place & 1:
        detail = device.unsupported or "needs a feature that the node or the cluster lacks"
        return Verdict(ReasonKind.UNSUPPORTED, detail, selected=True)
    for taint in device.taints:
        if not any(tolerates(toleration, taint) for toleration in shape.tolerations):
            return Verdict(ReasonKind.TAINTED, f"{taint.key}:{taint.effect}", selected=True)
    return Verdict(None, selected=True, consumed=consumed)


def _expressions(shape: RequestShape) -> tuple[tuple[str, str], ...]:
    of_class = tuple(("class", expression) for expression in shape.class_selectors)
    return of_class + tuple(("request", expression) for expression in shape.selectors)


def _work_out(pool: Pool, shape: RequestShape, selectors: Selectors) -> Candidates:
    selected = usable = failed = 0
    errors: dict[int, ClaimError] = {}
    consumed: dict[int, dict[str, Quantity]] = {}
    for place, device in enumerate(pool.devices):
        verdict = judge(pool, place, shape, selectors)
        bit = 1 << place
        selected |= bit if verdict.selected else 0
        usable |= bit if verdict.reason is None else 0
        if verdict.error is not None:
            failed |= bit
            errors[place] = verdict.error
        if device.shareable and verdict.consumed is not None:
            consumed[place] = verdict.consumed
    return Candidates(
        selected=selected, usable=usable, failed=failed, errors=errors, consumed=consumed
    )
