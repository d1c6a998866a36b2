"""All answers that a small problem could have, tried one by one: slow and simple.

Knows nothing of order, going back or pruning; what is sound, the checker says.
"""

from collections.abc import Iterator
from itertools import combinations, product

from unit.allocator.search.checker import (
    Case,
    Found,
    Wish,
    consumed,
    selectable,
    shareable,
    violations,
    visible_devices,
)

from dra_shared.kube.claims import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    ExactDeviceRequest,
)
from dra_shared.quantity import NANOS, Quantity

Results = tuple[DeviceRequestAllocationResult, ...]


def any_solution(case: Case) -> tuple[AllocationResult, ...] | None:
    """Some sound answer, None if there is none at all."""
    per_claim = [list(_claim_answers(case, number)) for number in range(len(case.claims))]
    for answer in product(*per_claim):
        if not violations(case, answer):
            return answer
    return None


def _claim_answers(case: Case, number: int) -> Iterator[AllocationResult]:
    wanted = case.claims[number].spec.devices.requests or ()
    choices = []
    for request in wanted:
        wishes: list[tuple[str, Wish]] = [
            (f"{request.name}/{sub.name}", sub) for sub in request.first_available or ()
        ]
        if request.exactly is not None:
            wishes = [(request.name, request.exactly)]
        choices.append([one for name, wish in wishes for one in _wish_answers(case, name, wish)])
    for results in product(*choices):
        together = tuple(result for some in results for result in some)
        if len(together) <= 32:
            yield AllocationResult(devices=DeviceAllocationResult(results=together))


def _wish_answers(case: Case, name: str, wish: Wish) -> Iterator[Results]:
    fitting = [one for one in visible_devices(case) if selectable(case, wish, one)]
    count = len(fitting) if wish.allocation_mode == "All" else wish.count
    if count:
        for some in combinations(fitting, count):
            yield tuple(_result(case, name, wish, one) for one in some)


def _result(case: Case, name: str, wish: Wish, one: Found) -> DeviceRequestAllocationResult:
    admin = isinstance(wish, ExactDeviceRequest) and bool(wish.admin_access)
    shared = shareable(case, one.device)
    amounts = (consumed(case, wish, one) or {}) if shared and not admin else {}
    driver, pool, device = one.key
    return DeviceRequestAllocationResult(
        request=name,
        driver=driver,
        pool=pool,
        device=device,
        admin_access=admin or None,
        tolerations=wish.tolerations or None,
        share_id="a share" if shared else None,
        consumed_capacity={
            key: str(Quantity(int(amount * NANOS))) for key, amount in amounts.items()
        }
        or None,
    )
