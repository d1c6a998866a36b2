"""What the log says about one node: agent, devices per driver, open faults. Knows no pools."""

import msgspec

from dra_shared.events.nodes import (
    AgentStarted,
    AgentStopped,
    DeviceFaultCleared,
    DeviceFaultRaised,
    DevicesReported,
    Severity,
)
from dra_shared.events.pools import NodeLost, NodeReturned

NodeFact = (
    AgentStarted
    | AgentStopped
    | DevicesReported
    | DeviceFaultRaised
    | DeviceFaultCleared
    | NodeLost
    | NodeReturned
)
"""The facts that this module understands."""


class Fault(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """One open cause of trouble with one device; `since` is RFC 3339."""

    device: str
    cause: str
    severity: Severity
    since: str


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A node as its agent tells; `drivers` are those the running agent serves."""

    name: str
    drivers: tuple[str, ...] = ()
    reports: dict[str, DevicesReported] = msgspec.field(default_factory=dict)
    faults: dict[str, tuple[Fault, ...]] = msgspec.field(default_factory=dict)
    lost: bool = False


def evolve(node: Node, fact: NodeFact, time: str) -> Node:
    """The node after one more fact, which happened at `time`."""
    match fact:
        case AgentStarted():
            return msgspec.structs.replace(node, drivers=fact.drivers)
        case AgentStopped():
            return node
        case DevicesReported():
            reports = {**node.reports, fact.driver: fact}
            return msgspec.structs.replace(node, reports=reports)
        case DeviceFaultRaised() | DeviceFaultCleared():
            faults = {**node.faults, fact.driver: _faults(node, fact, time)}
            return msgspec.structs.replace(node, faults=faults)
        case NodeLost():
            return msgspec.structs.replace(node, lost=True)
        case NodeReturned():
            return msgspec.structs.replace(node, lost=False)


def _faults(
    node: Node, fact: DeviceFaultRaised | DeviceFaultCleared, time: str
) -> tuple[Fault, ...]:
    before = node.faults.get(fact.driver, ())
    same = next((f for f in before if (f.device, f.cause) == (fact.device, fact.cause)), None)
    others = [f for f in before if f is not same]
    if isinstance(fact, DeviceFaultRaised):
        since = same.since if same is not None and same.severity == fact.severity else time
        fault = Fault(device=fact.device, cause=fact.cause, severity=fact.severity, since=since)
        others.append(fault)
    return tuple(sorted(others))
