"""Which devices of a pool may serve a request's shape, whatever is in use.

The answer depends on pool and shape alone and is kept with the pool: an index over many pools can
be built on it.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from dra_allocator.core.search.capacity import CapacityError, consumption
from dra_allocator.core.search.outcome import ClaimError, ErrorKind
from dra_allocator.core.search.pools import Pool
from dra_allocator.core.search.selectors import Failed, Selectors
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
    """Say why the device at this place of the pool may or may not serve the shape."""
    return _verdicts(pool, (place,), shape, selectors)[place]


def tolerates(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    """Say whether the toleration lets a request onto a device with the taint (KEP-5055)."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in {"", "Equal"} and toleration.value == taint.value


def _verdicts(
    pool: Pool, places: Sequence[int], shape: RequestShape, selectors: Selectors
) -> dict[int, Verdict]:
    """Judge devices, in upstream's order, which decides whether an error is met.

    What is shown to selectors at all, class selectors, request selectors, nodes, capacity, then
    support and taints.
    """
    verdicts: dict[int, Verdict] = {}
    chosen = _chosen(pool, places, shape, selectors, verdicts)
    wanted = {name: parse_quantity(text) for name, text in shape.capacity} if chosen else {}
    for place in chosen:
        verdicts[place] = _judge_chosen(pool, place, wanted, shape.tolerations)
    return verdicts


def _chosen(
    pool: Pool,
    places: Sequence[int],
    shape: RequestShape,
    selectors: Selectors,
    verdicts: dict[int, Verdict],
) -> list[int]:
    """Give the places that all selectors choose, and note the verdicts on the others."""
    left: list[int] = []
    for place in places:
        if hidden := pool.devices[place].hidden:
            verdicts[place] = Verdict(ReasonKind.UNSUPPORTED, hidden)
        else:
            left.append(place)
    for where, expression in _expressions(shape):
        answers = selectors.matches(expression, [pool.devices[place] for place in left])
        no = Verdict(ReasonKind.SELECTOR_FALSE, expression)
        asked, left = left, []
        for place, answer in zip(asked, answers, strict=True):
            if answer is True:
                left.append(place)
            else:
                verdicts[place] = no if answer is False else _unanswered(pool, place, where, answer)
    return left


def _unanswered(pool: Pool, place: int, where: str, failed: Failed) -> Verdict:
    message = f"selector of the {where} on device {pool.devices[place].id}: {failed}"
    error = ClaimError(ErrorKind.SELECTOR, message)
    return Verdict(ReasonKind.SELECTOR_ERROR, str(failed), error=error)


def _judge_chosen(
    pool: Pool,
    place: int,
    wanted: Mapping[str, Quantity],
    tolerations: tuple[DeviceToleration, ...],
) -> Verdict:
    device = pool.devices[place]
    if not pool.here >> place & 1:
        return Verdict(ReasonKind.NODE_UNFIT, "the device belongs to other nodes")
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
        if not any(tolerates(toleration, taint) for toleration in tolerations):
            return Verdict(ReasonKind.TAINTED, f"{taint.key}:{taint.effect}", selected=True)
    return Verdict(None, selected=True, consumed=consumed)


@lru_cache(maxsize=MOST_SHAPES)
def _expressions(shape: RequestShape) -> tuple[tuple[str, str], ...]:
    of_class = tuple(("class", expression) for expression in shape.class_selectors)
    return of_class + tuple(("request", expression) for expression in shape.selectors)


def _work_out(pool: Pool, shape: RequestShape, selectors: Selectors) -> Candidates:
    selected = usable = failed = 0
    errors: dict[int, ClaimError] = {}
    consumed: dict[int, dict[str, Quantity]] = {}
    verdicts = _verdicts(pool, range(len(pool.devices)), shape, selectors)
    for place, device in enumerate(pool.devices):
        verdict = verdicts[place]
        if verdict.reason is ReasonKind.SELECTOR_FALSE:
            continue
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
