"""What is left of a pool says of each device what a search that tries it first would find."""

from collections.abc import Sequence
from typing import Any

from hypothesis import example, given
from unit.allocator.search.builders import (
    a_case,
    a_claim,
    a_cost,
    a_device,
    a_problem,
    a_slice,
    consumes,
    counter_slice,
)
from unit.allocator.search.checker import Case
from unit.allocator.search.strategies import cases

from dra_allocator.core.search.candidates import candidates
from dra_allocator.core.search.in_use import PoolUse
from dra_allocator.core.search.left import left
from dra_allocator.core.search.outcome import ClaimError
from dra_allocator.core.search.plan import plan_claims
from dra_allocator.core.search.pools import Pool
from dra_allocator.core.search.shapes import Candidates, RequestShape
from dra_allocator.core.search.trial import PoolTrial
from dra_shared.events.allocations import Cost


def grouped(group: str, **counters: str) -> list[dict[str, Any]]:
    return [{**one, "compatibilityGroups": [group]} for one in consumes(**counters)]


def parts(*devices: dict[str, Any], in_use: Sequence[Cost]) -> Case:
    """A pool of devices that draw from two counters of 4."""
    return a_case([counter_slice(c="4", e="4"), a_slice(*devices, count=2)], [a_claim()], in_use)


@given(cases())
@example(
    parts(
        a_device("d0", consumesCounters=grouped("a", c="1")),
        a_device("d1", consumesCounters=grouped("b", c="1")),
        a_device("d2", consumesCounters=consumes(c="4")),
        in_use=[
            a_cost("d0", counters={"k": {"c": "1"}}, compatibility_groups={"k": ("a",)}),
        ],
    )
)
@example(
    parts(
        a_device("d0", consumesCounters=consumes(c="1")),
        a_device("d1", consumesCounters=consumes(c="1")),
        in_use=[  # as granted before the driver took the groups away
            a_cost("d0", counters={"k": {"c": "1"}}, compatibility_groups={"k": ("a",)}),
        ],
    )
)
@example(
    parts(
        a_device("d0", consumesCounters=consumes(c="3"), allowMultipleAllocations=True),
        a_device("d1", consumesCounters=consumes(c="1")),
        in_use=[a_cost("d0", share_id="s", counters={"k": {"c": "3"}})],
    )
)
@example(
    parts(
        a_device("d1", consumesCounters=consumes(e="1")),
        in_use=[a_cost("gone", counters={"k": {"c": "5"}})],
    )
)
@example(
    parts(
        a_device("d0", capacity={"memory": {"value": "4"}}, allowMultipleAllocations=True),
        in_use=[a_cost("d0", share_id="s", capacity={"memory": "2"})],
    )
)
@example(
    parts(
        a_device("d0", consumesCounters=grouped("a", c="1")),
        a_device("d1", consumesCounters=consumes(c="1")),
        in_use=[a_cost("d1", counters={"k": {"c": "1"}})],
    )
)
@example(parts(a_device("d0", allowMultipleAllocations=True), in_use=[a_cost("d0")]))
def test_what_is_left_is_what_a_trial_lets_be_taken(case: Case) -> None:
    problem = a_problem(case)
    for pool in problem.pools:
        for shape in shapes(case):
            if pool.fault is None:
                found, use = candidates(pool, shape, problem.selectors), problem.in_use.of(pool.id)
                assert left(pool, found, use) == tried(pool, found, use)
                assert left(pool, found, use) == tried(pool, found, use), "asked again"


def shapes(case: Case) -> list[RequestShape]:
    try:
        planned = plan_claims(a_problem(case))
    except ClaimError:
        return []
    requests = [request for claim in planned for request in claim.requests]
    return [one.shape for request in requests for one in request.alternatives]


def tried(pool: Pool, found: Candidates, use: PoolUse) -> int:
    """The same, one device after the other."""
    trial = PoolTrial(pool, use, 1)
    mask = 0
    for place in range(len(pool.devices)):
        bit = 1 << place
        if not (found.usable | found.failed) & trial.free(0, admin=False) & bit:
            continue
        consumed = found.consumed.get(place, {})
        fits = trial.is_available(place, admin=False) and not trial.lacks_capacity(
            place, consumed, admin=False
        )
        if fits or found.failed & bit:
            mask |= bit
    return mask
