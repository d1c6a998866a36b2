"""Compares the allocator's search with the answers of Kubernetes' own, as recorded in a file.

    python tests/vectors/allocator.py PATH [--failures]

PATH holds one problem with its answer a line. A difference that is meant is recognised by a rule,
never by name: with a known fault of Kubernetes put back (upstream_faults.py), our search gives
that answer exactly, and without it a sound one (docs/differences.md). The last line says how many
match; exit 0 when all do.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

import kube_cel
from dra_allocator.core.search.features import Feature
from dra_allocator.core.search.in_use import InUse
from dra_allocator.core.search.nodes import NodeView
from dra_allocator.core.search.outcome import ClaimError, Found, NotFound, Outcome
from dra_allocator.core.search.plan import Problem, plan_claims
from dra_allocator.core.search.pools import pools_for_node
from dra_allocator.core.search.search import Search
from dra_allocator.core.search.selectors import Selectors
from dra_shared.events.allocations import Cost
from dra_shared.ids import DeviceId
from dra_shared.kube.claims import AllocationResult, DeviceClass, ResourceClaim
from dra_shared.kube.core import Node
from dra_shared.kube.devices import Device, ResourceSlice
from dra_shared.quantity import parse_quantity

sys.path.insert(0, str(Path(__file__).parents[1]))  # tests/, where pytest too has its modules

from unit.allocator.search.checker import Case, violations
from vectors.upstream_faults import FAULTS

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


class BadLineError(Exception):
    """A line of the file is no problem of this shape; the file must be corrected."""

    def __init__(self, path: Path, number: int, why: str) -> None:
        super().__init__(f"{path}:{number}: {why}")


def read(path: Path) -> Iterator[Vector]:
    decoder = msgspec.json.Decoder(Vector)
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                yield decoder.decode(line)
            except msgspec.DecodeError as error:
                raise BadLineError(path, number, str(error)) from error


def node_of(vector: Vector) -> NodeView:
    return NodeView(
        name=vector.node.metadata.name,
        labels=vector.node.metadata.labels or {},
        declared_features=frozenset(vector.node.status.declared_features or ()),
    )


def problem_of(vector: Vector) -> Problem:
    node = node_of(vector)
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


def answer(problem: Problem, kind: type[Search] = Search) -> Answer:
    try:
        outcome = kind(problem, plan_claims(problem)).run(BUDGET, lambda _: SHARE)
    except ClaimError as error:
        return Answer("error", text=error.message)
    return in_words(outcome)


def difference(vector: Vector, problem: Problem, answered: Answer) -> str | None:
    """The deliberate difference that this is; None if there is no rule for it."""
    if violations(case_of(vector), answered.results):
        return None
    for name, search_with_fault in FAULTS.items():
        if same(vector.expected, answer(problem, search_with_fault)):
            return name
    return None


def case_of(vector: Vector) -> Case:
    return Case(
        node=node_of(vector),
        slices=vector.slices or (),
        classes=vector.classes or (),
        claims=vector.claims or (),
        in_use=tuple(held(vector)),
        features=vector.features,
    )


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
    if len(paths) != 1 or not Path(paths[0]).is_file():
        sys.stderr.write("usage: python tests/vectors/allocator.py PATH [--failures]\n")
        sys.stderr.write("PATH is a file of allocation problems with answers, one a line\n")
        return 2
    try:
        counts = compared(read(Path(paths[0])), told_of="--failures" in arguments)
    except BadLineError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    deliberate = f", {counts['differ']} differ deliberately" if counts["differ"] else ""
    sys.stdout.write(f"{counts['match']} of {counts.total()} match{deliberate}\n")
    return 1 if counts["fail"] or not counts else 0


def compared(vectors: Iterable[Vector], *, told_of: bool) -> Counter[str]:
    """How many lines match, differ deliberately, fail; `told_of`: each that does not match is shown."""
    counts: Counter[str] = Counter()
    for vector in vectors:
        problem = problem_of(vector)
        answered = answer(problem)
        verdict = "match" if same(vector.expected, answered) else "fail"
        if verdict == "fail" and difference(vector, problem, answered):
            verdict = "differ"
        counts[verdict] += 1
        if verdict != "match" and told_of:
            sys.stdout.write(f"{verdict} {vector.name}: {told(vector.expected, answered)}\n")
    return counts


def told(expected: Expected, answered: Answer) -> str:
    return (
        f"expected {expected.outcome} {expected.error[:120]!r}, "
        f"got {answered.outcome} {answered.text[:120]!r}"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
