"""Builders for problems of the search: everything has a default that fits together."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
from unit.allocator.search.checker import Case

import kube_cel
from dra_allocator.core.search.features import Feature, Features
from dra_allocator.core.search.in_use import InUse
from dra_allocator.core.search.nodes import NodeView
from dra_allocator.core.search.outcome import Found, Outcome
from dra_allocator.core.search.plan import Problem
from dra_allocator.core.search.pools import pools_for_node
from dra_allocator.core.search.search import search
from dra_allocator.core.search.selectors import Selectors
from dra_shared.events.allocations import Cost
from dra_shared.ids import DeviceId
from dra_shared.kube.claims import DeviceClass, ResourceClaim
from dra_shared.kube.devices import ResourceSlice

DRIVER = "dev.lab.example"
EVERYTHING: Features = frozenset(Feature)
NODE = NodeView(name="n1", labels={"zone": "z1"})


def a_device(name: str = "d0", **fields: Any) -> dict[str, Any]:
    """A device as JSON; attributes as plain values, capacities as quantities."""
    attributes = {key: an_attribute(value) for key, value in fields.pop("attributes", {}).items()}
    capacity = {
        key: value if isinstance(value, dict) else {"value": value}
        for key, value in fields.pop("capacity", {}).items()
    }
    return {"name": name, "attributes": attributes, "capacity": capacity, **fields}


def an_attribute(value: object) -> dict[str, object]:
    kinds: dict[type, str] = {bool: "bool", int: "int", str: "string"}
    if isinstance(value, list):
        return {kinds[type(value[0])] + "s": value}
    return value if isinstance(value, dict) else {kinds[type(value)]: value}


def devices(*names: str, **fields: Any) -> list[dict[str, Any]]:
    return [a_device(name, **fields) for name in names]


def consumes(**counters: str) -> list[dict[str, Any]]:
    """Consumption of counters of the set `k`."""
    values = {name: {"value": amount} for name, amount in counters.items()}
    return [{"counterSet": "k", "counters": values}]


def a_slice(
    *devices: dict[str, Any], name: str = "", pool: str = "n1", count: int = 1, **spec: Any
) -> ResourceSlice:
    """A slice of one pool; on node n1 unless said otherwise."""
    where = {"nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection"}
    if not where & spec.keys():
        spec["nodeName"] = "n1"
    generation = spec.pop("generation", 1)
    content = {
        "driver": DRIVER,
        "pool": {"name": pool, "generation": generation, "resourceSliceCount": count},
        "devices": list(devices),
        **spec,
    }
    document = {"metadata": {"name": name or f"{pool}-a"}, "spec": content}
    return msgspec.convert(document, ResourceSlice)


def counter_slice(pool: str = "n1", count: int = 2, **counters: str) -> ResourceSlice:
    """A slice with one counter set `k`."""
    values = {name: {"value": amount} for name, amount in counters.items()}
    shared = [{"name": "k", "counters": values}]
    return a_slice(name=f"{pool}-counters", pool=pool, count=count, sharedCounters=shared)


def a_class(name: str = "any", *expressions: str, **spec: Any) -> DeviceClass:
    selectors = [{"cel": {"expression": text}} for text in expressions]
    document = {"metadata": {"name": name}, "spec": {"selectors": selectors, **spec}}
    return msgspec.convert(document, DeviceClass)


def a_request(name: str = "r", count: int = 1, *selectors: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "exactly": a_wish(count, *selectors, **fields)}


def a_wish(count: int = 1, *selectors: str, **fields: Any) -> dict[str, Any]:
    wish: dict[str, Any] = {"deviceClassName": "any", "count": count, **fields}
    if selectors:
        wish["selectors"] = [{"cel": {"expression": text}} for text in selectors]
    return wish


def first_available(name: str = "r", **alternatives: dict[str, Any]) -> dict[str, Any]:
    subs = [{"name": sub, **wish} for sub, wish in alternatives.items()]
    return {"name": name, "firstAvailable": subs}


def everything(**fields: Any) -> dict[str, Any]:
    """What is added to a wish of mode All."""
    return {"allocationMode": "All", **fields}


def a_claim(*requests: dict[str, Any], name: str = "c1", **fields: Any) -> ResourceClaim:
    """A claim for one device unless requests are given."""
    content = {"requests": list(requests) or [a_request()], **fields}
    return msgspec.convert(
        {"metadata": {"name": name}, "spec": {"devices": content}}, ResourceClaim
    )


def match(attribute: str, *requests: str) -> dict[str, Any]:
    return {"matchAttribute": f"{DRIVER}/{attribute}", "requests": list(requests)}


def distinct(attribute: str, *requests: str) -> dict[str, Any]:
    return {"distinctAttribute": f"{DRIVER}/{attribute}", "requests": list(requests)}


def a_cost(device: str = "d0", pool: str = "n1", **fields: Any) -> Cost:
    return Cost(device=DeviceId(DRIVER, pool, device), **fields)


def a_case(
    slices: Iterable[ResourceSlice],
    claims: Iterable[ResourceClaim],
    in_use: Iterable[Cost] = (),
    features: Features = EVERYTHING,
    **other: Any,
) -> Case:
    classes: Sequence[DeviceClass] = other.pop("classes", ())
    return Case(
        node=other.pop("node", NODE),
        slices=tuple(slices),
        classes=(a_class(), *classes),
        claims=tuple(claims),
        in_use=tuple(in_use),
        features=features,
    )


def a_problem(case: Case) -> Problem:
    return Problem(
        node=case.node,
        pools=pools_for_node(case.slices, case.node, case.features),
        claims=case.claims,
        classes={one.metadata.name: one for one in case.classes},
        in_use=InUse(case.in_use),
        features=case.features,
        selectors=Selectors(kube_cel.Environment(stored=True)),
    )


def share_ids(prefix: str = "share") -> Callable[[int], str]:
    return lambda ordinal: f"{prefix}-{ordinal}"


def solve(case: Case, budget: int = 10_000) -> Outcome:
    return search(a_problem(case), budget=budget, share_id=share_ids())


def chosen(outcome: Outcome) -> list[list[str]]:
    """The devices of each claim, or a readable failure."""
    assert isinstance(outcome, Found), outcome
    return [
        [result.device for result in one.allocation.devices.results or ()] for one in outcome.claims
    ]


def pick(
    slices: Iterable[ResourceSlice],
    claims: Iterable[ResourceClaim],
    in_use: Iterable[Cost] = (),
    features: Features = EVERYTHING,
    **other: Any,
) -> list[list[str]] | None:
    """The devices of each claim, None where there is no solution."""
    outcome = solve(a_case(slices, claims, in_use, features, **other))
    return chosen(outcome) if isinstance(outcome, Found) else None
