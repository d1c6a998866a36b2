"""Random small problems: few devices, but every feature; what is in use came from an allocation."""

from typing import Any

import msgspec
from hypothesis import strategies as st
from unit.allocator.search.builders import (
    DRIVER,
    a_case,
    a_class,
    a_device,
    a_slice,
    counter_slice,
    solve,
)
from unit.allocator.search.checker import Case

from dra_allocator.core.search.features import Feature
from dra_allocator.core.search.outcome import ClaimError, Found
from dra_shared.events.allocations import Cost
from dra_shared.kube.claims import ResourceClaim
from dra_shared.kube.devices import ResourceSlice

SELECTORS = (
    f'device.attributes["{DRIVER}"].?color.orValue("") == "red"',
    "device.allowMultipleAllocations",
    "!device.allowMultipleAllocations",
)
POLICIES: tuple[dict[str, Any] | None, ...] = (
    None,
    {"default": "1"},
    {"default": "1", "validRange": {"min": "1", "max": "3", "step": "1"}},
    {"default": "1500m", "validRange": {"min": "500m", "step": "500m"}},
    {"default": "2", "validValues": ["1", "2", "4"]},
)
TAINT = {"key": "bad", "effect": "NoSchedule"}
AMOUNTS = st.sampled_from(["0", "1", "1500m", "2", "3"])


@st.composite
def capacities(draw: st.DrawFn) -> dict[str, Any]:
    policy = draw(st.sampled_from(POLICIES))
    value = {"value": draw(st.sampled_from(["2", "4", "5"]))}
    return {"memory": value | ({"requestPolicy": policy} if policy else {})}


@st.composite
def consumption(draw: st.DrawFn) -> list[dict[str, Any]]:
    counters = {"mem": {"value": draw(st.sampled_from(["1", "2", "3"]))}}
    groups = draw(st.sampled_from([[], [], ["g"], ["g", "h"], ["h"]]))
    return [{"counterSet": "k", "counters": counters, "compatibilityGroups": groups}]


@st.composite
def random_devices(draw: st.DrawFn, name: str, *, partition: bool) -> dict[str, Any]:
    attributes: dict[str, Any] = {}
    if draw(st.booleans()):
        attributes["color"] = draw(st.sampled_from(["red", "blue"]))
    if draw(st.booleans()):
        attributes["numa"] = draw(st.sampled_from([0, 1, [0, 1], [1, 2]]))
    return a_device(
        name,
        attributes=attributes,
        capacity=draw(st.one_of(st.just({}), capacities())),
        allowMultipleAllocations=draw(st.booleans()),
        taints=draw(st.sampled_from([[], [], [], [TAINT]])),
        consumesCounters=draw(consumption()) if partition else [],
    )


@st.composite
def pools(draw: st.DrawFn, name: str) -> list[ResourceSlice]:
    partition = draw(st.booleans())
    count = draw(st.integers(1, 3))
    devices = [draw(random_devices(f"{name}{n}", partition=partition)) for n in range(count)]
    if not partition:
        return [a_slice(*devices, pool=name)]
    counters = counter_slice(name, mem=draw(st.sampled_from(["2", "4"])))
    return [a_slice(*devices, pool=name, count=2), counters]


@st.composite
def wishes(draw: st.DrawFn, *, alternative: bool) -> dict[str, Any]:
    wish: dict[str, Any] = {"deviceClassName": "any", "count": draw(st.integers(1, 2))}
    if draw(st.integers(0, 3)) == 0:
        wish["allocationMode"] = "All"
    if draw(st.booleans()):
        wish["selectors"] = [{"cel": {"expression": draw(st.sampled_from(SELECTORS))}}]
    if draw(st.integers(0, 2)) == 0:
        wish["capacity"] = {"requests": {"memory": draw(AMOUNTS)}}
    if draw(st.booleans()):
        wish["tolerations"] = [{"operator": "Exists"}]
    if not alternative and draw(st.integers(0, 3)) == 0:
        wish["adminAccess"] = True
    return wish


@st.composite
def requests(draw: st.DrawFn, name: str) -> dict[str, Any]:
    if draw(st.integers(0, 2)):
        return {"name": name, "exactly": draw(wishes(alternative=False))}
    subs = [{"name": sub, **draw(wishes(alternative=True))} for sub in ("a", "b")]
    return {"name": name, "firstAvailable": subs}


@st.composite
def claims(draw: st.DrawFn, name: str) -> ResourceClaim:
    wanted = [draw(requests(f"r{n}")) for n in range(draw(st.integers(1, 2)))]
    kind = draw(st.sampled_from(["", "", "matchAttribute", "distinctAttribute"]))
    constraints = [{kind: f"{DRIVER}/numa"}] if kind else []
    devices = {"requests": wanted, "constraints": constraints}
    return msgspec.convert(
        {"metadata": {"name": name}, "spec": {"devices": devices}}, ResourceClaim
    )


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A problem of at most six devices; what is in use is what an earlier claim got."""
    slices = draw(pools("a")) + draw(st.one_of(st.just([]), pools("b")))
    wanted = [draw(claims(f"c{n}")) for n in range(draw(st.integers(1, 2)))]
    features = frozenset(Feature) - draw(st.sets(st.sampled_from(SWITCHED), max_size=1))
    earlier = draw(st.one_of(st.none(), claims("earlier")))
    held = () if earlier is None else _costs(a_case(slices, [earlier]))
    return a_case(slices, wanted, held, features, classes=[a_class("unused")])


SWITCHED = (Feature.DEVICE_TAINTS, Feature.FRACTIONAL_CAPACITY)


def _costs(case: Case) -> tuple[Cost, ...]:
    try:
        outcome = solve(case)
    except ClaimError:
        return ()
    if not isinstance(outcome, Found):
        return ()
    return tuple(cost for one in outcome.claims for cost in one.costs)
