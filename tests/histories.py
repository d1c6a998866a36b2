"""Random histories of a small cluster: everything that can happen, in any order that may happen."""

from collections.abc import Iterable
from typing import NamedTuple

from cluster import (
    DRIVER,
    Story,
    a_claim,
    a_class,
    a_device,
    a_node,
    a_pod,
    a_pool,
    a_request,
    ended,
    gone,
    ref,
)
from hypothesis import strategies as st

from dra_shared.events.claims import PodGroupRef
from dra_shared.events.cluster import (
    ClassRemoved,
    NodeRemoved,
    TaintRuleObserved,
    TaintRuleRemoved,
)
from dra_shared.events.envelope import AnyFact
from dra_shared.events.mirror import (
    AllocationCleared,
    AllocationRefused,
    ClearedBy,
    ForeignAllocationObserved,
)
from dra_shared.events.pools import (
    NodeLost,
    NodeReturned,
    PoolPublished,
    PoolWithdrawn,
    WithdrawalReason,
)
from dra_shared.events.writers import EpochOpened
from dra_shared.kube.claims import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    DeviceTaintRule,
    DeviceTaintRuleSpec,
    DeviceTaintSelector,
)
from dra_shared.kube.devices import (
    Device,
    DeviceCapacity,
    DeviceTaint,
    ResourcePool,
    ResourceSliceSpec,
)
from dra_shared.kube.meta import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, ObjectMeta

NODES = ("n1", "n2", "n3")


class Step(NamedTuple):
    """Something that happens; the two numbers choose to whom and how."""

    what: str
    one: int
    other: int


def a_foreign_allocation(claim: str, node: str, device: str) -> ForeignAllocationObserved:
    """Somebody else allocated the claim."""
    result = DeviceRequestAllocationResult(request="r", driver=DRIVER, pool=node, device=device)
    return ForeignAllocationObserved(
        claim=ref(claim),
        allocation=AllocationResult(devices=DeviceAllocationResult(results=(result,))),
    )


def a_rule(name: str, pool: str, device: str | None = None) -> TaintRuleObserved:
    """A rule that keeps claims from a pool's devices."""
    return TaintRuleObserved(
        rule=DeviceTaintRule(
            metadata=ObjectMeta(name=name),
            spec=DeviceTaintRuleSpec(
                device_selector=DeviceTaintSelector(driver=DRIVER, pool=pool, device=device),
                taint=DeviceTaint(key="broken", effect="NoSchedule"),
            ),
        )
    )


def _pool(one: int, other: int, generation: int) -> AnyFact:
    share = a_device(
        "s0", allow_multiple_allocations=True, capacity={"mem": DeviceCapacity(value="4")}
    )
    devices: list[str | Device] = [
        *(f"d{n}" for n in range(other % 4)),
        *([share] if other > 3 else []),
    ]
    return a_pool(NODES[one % 3], devices, generation=generation)


def a_network_pool(generation: int, devices: int, zone: str = "") -> PoolPublished:
    """Devices that all nodes can reach, or those of a zone."""
    label = NodeSelectorRequirement(key="zone", operator="In", values=(zone,))
    term = NodeSelectorTerm(match_expressions=(label,))
    spec = ResourceSliceSpec(
        driver=DRIVER,
        pool=ResourcePool(name="net", generation=generation, resource_slice_count=1),
        all_nodes=None if zone else True,
        node_selector=NodeSelector(node_selector_terms=(term,)) if zone else None,
        devices=tuple(a_device(f"d{number}") for number in range(devices)),
    )
    return PoolPublished(
        driver=DRIVER, pool="net", node=None, generation=generation, slices=(spec,)
    )


def _in_cluster(what: str, one: int, other: int, number: int) -> tuple[AnyFact, ...]:
    """What happens to nodes, pools, classes and rules; nothing for other words."""
    node = NODES[one % 3]
    gone = WithdrawalReason.DRIVER_GONE
    table: dict[str, AnyFact] = {
        "node": a_node(node, cpu_milli=1000 * other, labels={"zone": "ab"[one % 2]}),
        "node gone": NodeRemoved(name=node, uid=f"{node}-uid"),
        "lost": NodeLost(node=node, silent_for=9.0),
        "back": NodeReturned(node=node),
        "pool": _pool(one, other, number),
        "network pool": a_network_pool(number, other, "a" if one % 2 else ""),
        "network pool gone": PoolWithdrawn(driver=DRIVER, pool="net", node=None, reason=gone),
        "pool gone": PoolWithdrawn(driver=DRIVER, pool=node, node=node, reason=gone),
        "class": a_class(),
        "class gone": ClassRemoved(name="any"),
        "rule": a_rule("rule", node, f"d{other}" if other else None),
        "rule gone": TaintRuleRemoved(name="rule"),
        "new bridge": EpochOpened(writer="api-bridge", holder="b"),
    }
    return (table[what],) if what in table else ()


def a_group(number: int) -> PodGroupRef:
    """One of three groups, of two or three pods."""
    return PodGroupRef(name=f"g{number % 3}", size=2 + number % 2)


def _with_claims(story: Story, what: str, one: int, other: int) -> tuple[AnyFact, ...]:
    """What happens to claims and pods; one is only born once. Nothing for other words."""
    number = len(story.records) + 1
    claim = _one_of(story.state.registers.claims, other)
    node = NODES[one % 3]
    birth = a_claim(f"c{number}", a_request("r", 1 + other % 2))
    table: dict[str, tuple[AnyFact, ...]] = {
        "pod": (birth, a_pod(f"p{number}", f"c{number}", priority=one % 2, cpu_milli=500 * one)),
        "member": (birth, a_pod(f"p{number}", f"c{number}", group=a_group(one))),
        "member on shared claim": (a_pod(f"p{number}", claim, group=a_group(one)),),
        "pod on shared claim": (a_pod(f"p{number}", claim),),
        "pod ends": (ended(_one_of(story.state.registers.pods, other)),),
        "claim ends": (gone(claim),),
        "cleared": (
            AllocationCleared(
                claim=ref(claim), by=ClearedBy.OTHERS, unfit_node=node if one > 3 else None
            ),
        ),
        "refused": (AllocationRefused(claim=ref(claim), status=422, message="no"),),
        "foreign": (a_foreign_allocation(claim, node, f"d{one}"),),
    }
    return table.get(what, ())


def _one_of(uids: Iterable[str], number: int) -> str:
    """The name of one of the objects with these uids."""
    known = sorted(uids)
    return known[number % len(known)].removesuffix("-uid") if known else "nobody"


KINDS = (
    "node", "network pool", "network pool gone", "node gone", "lost", "back", "pool", "pool", "pool gone", "class", "class gone", "rule",
    "rule gone", "pod", "pod", "pod", "pod on shared claim", "member", "member", "member on shared claim", "pod ends", "claim ends", "cleared",
    "refused", "foreign", "new bridge", "speak", "speak", "send", "retry",
)  # fmt: skip

STEPS = st.lists(
    st.builds(Step, st.sampled_from(KINDS), st.integers(0, 5), st.integers(0, 5)),
    min_size=10,
    max_size=60,
)


def start(policy: str = "pack") -> Story:
    """A cluster of three nodes with two devices each."""
    story = Story(policy)
    story.tell(a_class())
    for node in NODES:
        story.tell(a_node(node), a_pool(node, ["d0", "d1"]))
    return story


def go_on(story: Story, step: Step) -> None:
    """One step more: somebody else's fact, or the allocator speaks, or its words reach the log."""
    match step.what:
        case "speak":
            story.speak()
        case "send":
            for _ in range(min(len(story.unsent), 1 + step.one)):
                story.append(story.unsent.pop(0))
        case "retry":
            story.engine.retry_limited()
        case _:
            story.tell(*_in_cluster(step.what, step.one, step.other, len(story.records) + 1))
            story.tell(*_with_claims(story, step.what, step.one, step.other))
