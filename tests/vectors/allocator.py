"""Compares the allocator's search with the answers of Kubernetes' own, as recorded in a file.

    python tests/vectors/allocator.py PATH [--failures]

PATH holds one problem with its answer a line. Differences that are meant are recognised by rules
(docs/differences.md), never by name. The last line says how many match; exit 0 when all do.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

import kube_cel
from dra_allocator.core.search.features import Feature
from dra_allocator.core.search.in_use import InUse
from dra_allocator.core.search.nodes import NodeView
from dra_allocator.core.search.outcome import ClaimError, Found, NotFound, Outcome
from dra_allocator.core.search.plan import Problem
from dra_allocator.core.search.pools import pools_for_node
from dra_allocator.core.search.search import search
from dra_allocator.core.search.selectors import Selectors
from dra_shared.events.allocations import Cost
from dra_shared.ids import DeviceId
from dra_shared.kube.claims import AllocationResult, DeviceClass, ResourceClaim
from dra_shared.kube.core import Node
from dra_shared.kube.devices import Device, ResourceSlice
from dra_shared.quantity import parse_quantity

SHARE = "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa"
BUDGET = 1_000_000


class Expected(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What Kubernetes answered."""

    outcome: str
    results: tuple[AllocationResult, ...] | None = None
    error: str = ""
    exact_order: bool = False
    first_fit_only: bool = False


class Vector(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One line of the file."""

    name: str
    features: frozenset[Feature] = frozenset()
    node: Node
    slices: tuple[ResourceSlice, ...] | None = None
    classes: tuple[DeviceClass, ...] | None = None
    claims: tuple[ResourceClaim, ...] | None = None
    allocated_devices: tuple[str, ...] | None = None
    allocated_shares: tuple[str, ...] | None = None
    allocated_capacity: dict[str, dict[str, str]] | None = None
    expected: Expected


class Answer(NamedTuple):
    """What our search answered, in the same terms."""

    outcome: str
    results: tuple[AllocationResult, ...] = ()
    text: str = ""


def read(path: Path) -> Iterator[Vector]:
    decoder = msgspec.json.Decoder(Vector)
    with path.open("rb") as lines:
        yield from (decoder.decode(line) for line in lines if line.strip())


def problem_of(vector: Vector) -> Problem:
    node = NodeView(
        name=vector.node.metadata.name,
        labels=vector.node.metadata.labels or {},
        declared_features=frozenset(vector.node.status.declared_features or ()),
    )
    lists = Feature.LIST_ATTRIBUTES in vector.features
    consumable = Feature.CONSUMABLE_CAPACITY in vector.features
    return Problem(
        node=node,
        pools=pools_for_node(vector.slices or (), node, vector.features),
        claims=vector.claims or (),
        classes={one.metadata.name: one for one in vector.classes or ()},
        in_use=InUse(held(vector)),
        features=vector.features,
        selectors=Selectors(
            kube_cel.Environment(stored=True, list_attributes=lists, consumable_capacity=consumable)
        ),
    )


def held(vector: Vector) -> Iterator[Cost]:
    """The costs behind what the line says is in use: counters as its slices have them."""
    devices = {
        f"{one.spec.driver}/{one.spec.pool.name}/{device.name}": device
        for one in vector.slices or ()
        for device in one.spec.devices or ()
    }
    for name in vector.allocated_devices or ():
        yield cost_of(name, devices.get(name), None, {})
    capacity = dict(vector.allocated_capacity or {})
    for share in vector.allocated_shares or ():
        name, _, share_id = share.rpartition("/")
        yield cost_of(name, devices.get(name), share_id, capacity.pop(name, {}))
    for name, consumed in capacity.items():
        yield cost_of(name, devices.get(name), SHARE, consumed)


def cost_of(name: str, device: Device | None, share: str | None, capacity: dict[str, str]) -> Cost:
    driver, rest = name.split("/", 1)
    pool, _, device_name = rest.rpartition("/")
    consumes = (device.consumes_counters if device else None) or ()
    return Cost(
        device=DeviceId(driver, pool, device_name),
        share_id=share,
        capacity=capacity,
        counters={
            one.counter_set: {name: counter.value for name, counter in one.counters.items()}
            for one in consumes
        },
        compatibility_groups={
            one.counter_set: one.compatibility_groups
            for one in consumes
            if one.compatibility_groups
        },
    )


def answer(problem: Problem) -> Answer:
    try:
        outcome = search(problem, budget=BUDGET, share_id=lambda _: SHARE)
    except ClaimError as error:
        return Answer("error", text=error.message)
    return in_words(outcome)


def in_words(outcome: Outcome) -> Answer:
    match outcome:
        case Found(claims=claims):
            return Answer("allocated", tuple(one.allocation for one in claims))
        case NotFound(invalid_pools=True):
            return Answer("error", text="invalid pools")
        case NotFound():
            return Answer("unsatisfiable")
        case _:
            return Answer("limit", text="the budget was used up")


def same(expected: Expected, answered: Answer) -> bool:
    if expected.outcome != answered.outcome:
        return False
    wanted = expected.results or ()
    return len(wanted) == len(answered.results) and all(
        comparable(one, ordered=expected.exact_order)
        == comparable(other, ordered=expected.exact_order)
        for one, other in zip(wanted, answered.results, strict=True)
    )


def comparable(allocation: AllocationResult, *, ordered: bool) -> Any:
    results = [msgspec.to_builtins(result) for result in allocation.devices.results or ()]
    for result in results:
        if result.get("shareID"):
            result["shareID"] = SHARE
        consumed = result.get("consumedCapacity") or {}
        result["consumedCapacity"] = {k: parse_quantity(v).nanos for k, v in consumed.items()}
        result.update({key: value for key, value in result.items() if value})
    texts = [repr(sorted(result.items())) for result in results]
    return (
        texts if ordered else sorted(texts),
        msgspec.to_builtins(allocation.devices.config or ()),
        selector_parts(allocation),
    )


def selector_parts(allocation: AllocationResult) -> Any:
    if allocation.node_selector is None:
        return None
    return sorted(
        (
            sorted(repr(msgspec.to_builtins(test)) for test in term.match_expressions or ()),
            sorted(repr(msgspec.to_builtins(test)) for test in term.match_fields or ()),
        )
        for term in allocation.node_selector.node_selector_terms
    )


def main(arguments: Sequence[str]) -> int:
    paths = [argument for argument in arguments if not argument.startswith("-")]
    if len(paths) != 1:
        sys.stderr.write("usage: python tests/vectors/allocator.py PATH [--failures]\n")
        return 2
    total = matching = 0
    for vector in read(Path(paths[0])):
        total += 1
        answered = answer(problem_of(vector))
        if same(vector.expected, answered):
            matching += 1
        elif "--failures" in arguments:
            print(
                vector.name,
                vector.expected.outcome,
                vector.expected.error[:150],
                "| got",
                answered.outcome,
                answered.text[:150],
            )
    print(f"{matching} of {total} match")
    return 0 if matching == total else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
