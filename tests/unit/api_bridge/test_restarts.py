"""Whatever happens in whatever order: nothing is said twice, and a restart has nothing to add."""

from typing import Any

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from unit.api_bridge.world import (
    World,
    a_claim,
    a_node,
    a_pod,
    allocated,
    an_allocation,
    user,
)

from dra_api_bridge.core.objects import Kind
from dra_api_bridge.core.requests import Allocate, AnyWrite, Reserve, TakeBack, Ungate
from dra_api_bridge.core.steps import end
from dra_shared.events.allocations import ClaimReleased, ReleaseReason
from dra_shared.events.claims import ClaimRequested, PodRequested
from dra_shared.events.mirror import AllocationCleared

SLOTS = st.integers(0, 2)
UNSCHEDULABLE = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}


class Cluster(RuleBasedStateMachine):
    """Pods with a claim of the same name each, an allocator, and others who interfere."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World().see(Kind.NODES, a_node("n1"), a_node("n2"))
        self.version = 10
        self.born = 0
        self.now = 0.0
        self.statuses: dict[str, Any] = {}
        self.pods: dict[str, Any] = {}
        self.names: dict[int, str] = {}

    @initialize()
    def first_pod(self) -> None:
        self.create(0)

    @rule(slot=SLOTS)
    def create(self, slot: int) -> None:
        if slot not in self.names:
            self.born += 1
            name = self.names[slot] = f"p{self.born}"
            self.statuses[name] = {}
            self.pods[name] = {}
            self.show(name)

    @rule(slot=SLOTS)
    def delete(self, slot: int) -> None:
        if slot in self.names:
            name = self.names.pop(slot)
            del self.statuses[name], self.pods[name]
            self.world.miss(Kind.PODS, name).miss(Kind.CLAIMS, name)

    @rule(slot=SLOTS, node=st.sampled_from(["n1", "n2"]))
    def decide(self, slot: int, node: str) -> None:
        """The allocator decides a pod whose claim is free."""
        name = self.names.get(slot, "")
        pod = self.world.mirror.recorded.pods.get(f"{name}-uid")
        claim = self.world.mirror.recorded.claims.get(f"{name}-uid")
        if pod and claim and not pod.decision and not claim.foreign and not claim.grant:
            self.world.told(allocated(name, (name,), node=node))

    @rule(slot=SLOTS)
    def clear(self, slot: int) -> None:
        """kube-scheduler, or anybody, takes an allocation away."""
        if (name := self.names.get(slot)) and self.statuses[name]:
            self.statuses[name] = {}
            self.show(name)

    @rule(slot=SLOTS)
    def interfere(self, slot: int) -> None:
        """Somebody else allocates."""
        if (name := self.names.get(slot)) and not self.statuses[name]:
            self.statuses[name] = {"allocation": an_allocation("theirs")}
            self.show(name)

    @rule(slot=SLOTS)
    def fail_to_schedule(self, slot: int) -> None:
        name = self.names.get(slot)
        if name and "schedulingGates" in self.pods[name]:
            self.pods[name] = {"schedulingGates": [], "status": {"conditions": [UNSCHEDULABLE]}}
            self.show(name)

    @rule(slot=SLOTS, node=st.sampled_from(["n1", "n2"]))
    def bind(self, slot: int, node: str) -> None:
        """kube-scheduler binds a pod, maybe just when its allocation is taken back."""
        name = self.names.get(slot)
        if name and "schedulingGates" in self.pods[name] and "nodeName" not in self.pods[name]:
            self.pods[name] = {"schedulingGates": [], "nodeName": node}
            self.show(name)

    @rule()
    def release(self) -> None:
        """The allocator answers the last fact of an allocation that was cleared."""
        for record in self.world.records[-1:]:
            if isinstance(fact := record.envelope.fact, AllocationCleared):
                reason = ReleaseReason.CLEARED
                self.world.told(ClaimReleased(claim=fact.claim, node=None, reason=reason))

    @rule(taken=st.booleans())
    def write(self, *, taken: bool) -> None:
        """The bridge writes; the server takes it, or somebody was faster."""
        self.now += 20
        for write in self.world.writes(self.now):
            if taken:
                self.apply(write)
            end(self.world.mirror, write, 0, b"")

    @rule()
    def speak(self) -> None:
        self.world.facts()

    @invariant()
    def no_fact_is_told_twice(self) -> None:
        identities = [record.envelope.id for record in self.world.records]
        assert len(set(identities)) == len(identities)

    @invariant()
    def a_claim_stands_before_its_pod(self) -> None:
        known: set[str] = set()
        for record in self.world.records:
            match record.envelope.fact:
                case ClaimRequested(claim=claim):
                    known.add(claim.uid)
                case PodRequested(claims=claims):
                    assert {claim.uid for claim in claims} <= known
                case _:
                    pass

    def teardown(self) -> None:
        self.world.facts()
        assert self.world.restarted().facts() == [self.world.mirror.features]

    def apply(self, write: AnyWrite) -> None:
        match write:
            case Allocate(claim=claim, allocation=allocation):
                assert not self.statuses[claim.name], "an allocation is never overwritten"
                self.statuses[claim.name] = {
                    "allocation": msgspec.to_builtins(allocation),
                    "reservedFor": [user(claim.name)],
                }
                self.show(claim.name)
            case Reserve(claim=claim):
                self.statuses[claim.name] |= {"reservedFor": [user(claim.name)]}
                self.show(claim.name)
            case TakeBack(claim=claim):
                self.statuses[claim.name] = {}
                self.show(claim.name)
            case Ungate(pod=pod):
                assert self.statuses[pod.metadata.name], "a pod goes only with its devices"
                self.pods[pod.metadata.name] = {"schedulingGates": []}
                self.show(pod.metadata.name)
            case _:
                pass

    def show(self, name: str) -> None:
        """The watches show the pod and its claim as they are now."""
        self.version += 1
        spec = dict(self.pods[name])
        status = spec.pop("status", {})
        self.world.see(Kind.CLAIMS, a_claim(name, self.version, **self.statuses[name]))
        pod = a_pod(name, (name,), self.version, **spec)
        self.world.see(Kind.PODS, {**pod, "status": status})


TestCluster = Cluster.TestCase
