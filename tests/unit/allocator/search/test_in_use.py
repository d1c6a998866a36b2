"""What is in use is the sum of what was added and not removed, in any order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.allocator.search.builders import DRIVER, a_cost

from dra_allocator.core.search.in_use import InUse, PoolUse, UnknownCostError
from dra_allocator.core.search.pools import PoolId
from dra_shared.events.allocations import Cost

POOL = PoolId(DRIVER, "n1")

AMOUNTS = st.sampled_from(["1", "1500m", "2Gi"])
COSTS = st.builds(
    a_cost,
    st.sampled_from(["d0", "d1"]),
    st.sampled_from(["n1", "n2"]),
    share_id=st.sampled_from([None, "a", "b"]),
    capacity=st.dictionaries(st.just("memory"), AMOUNTS),
    counters=st.dictionaries(st.just("k"), st.dictionaries(st.just("mem"), AMOUNTS)),
    compatibility_groups=st.dictionaries(st.just("k"), st.sampled_from([("g",), ("g", "h")])),
    admin=st.booleans(),
)


def picture(in_use: InUse) -> object:
    """All that a search can see."""
    return [_pool(in_use.of(PoolId(DRIVER, pool))) for pool in ("n1", "n2")]


def _pool(use: PoolUse) -> object:
    devices = {name: (one.whole, one.capacity, one.counters) for name, one in use.devices.items()}
    return devices, use.counters, use.groups()


@given(st.lists(COSTS), st.randoms(use_true_random=False))
def test_order_does_not_matter(costs: list[Cost], random: object) -> None:
    shuffled = list(costs)
    random.shuffle(shuffled)  # type: ignore[attr-defined] # hypothesis' own Random
    assert picture(InUse(costs)) == picture(InUse(shuffled))


@given(st.lists(COSTS), st.lists(COSTS))
def test_what_is_removed_leaves_no_trace(kept: list[Cost], passing: list[Cost]) -> None:
    in_use = InUse(kept + passing)
    for cost in passing:
        in_use.give_back([cost])
    assert picture(in_use) == picture(InUse(kept))


@given(st.lists(COSTS), COSTS)
def test_a_copy_is_independent(costs: list[Cost], another: Cost) -> None:
    in_use = InUse(costs)
    before = picture(in_use)
    in_use.copy().hold([another])
    assert picture(in_use) == before


def test_counters_of_a_shared_device_are_charged_once_until_its_last_share_goes() -> None:
    first, second = (a_cost(share_id=name, counters={"k": {"mem": "2"}}) for name in "ab")
    in_use = InUse([first, second])
    two = in_use.of(POOL).counters
    assert list(two.values()) == [2 * 10**9]
    in_use.give_back([first])
    assert in_use.of(POOL).counters == two
    in_use.give_back([second])
    assert not in_use.of(POOL).counters


@pytest.mark.parametrize("amounts", [("2", "3"), ("3", "2")])
def test_the_share_that_was_charged_most_counts(amounts: tuple[str, str]) -> None:
    shares = [a_cost(share_id=one, counters={"k": {"mem": one}}) for one in amounts]
    assert list(InUse(shares).of(POOL).counters.values()) == [3 * 10**9]


def test_giving_back_what_nobody_took_is_our_fault_and_says_so() -> None:
    for in_use in (InUse(), InUse([a_cost("other")]), InUse([a_cost(share_id="x")])):
        with pytest.raises(UnknownCostError, match="n1/d0"):
            in_use.give_back([a_cost()])


def test_holders_of_a_device_are_known() -> None:
    cost = a_cost()
    assert InUse([cost]).holders(cost.device) == (cost,)
    assert InUse([a_cost(admin=True)]).holders(cost.device) == ()
