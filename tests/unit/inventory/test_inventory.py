"""From what agents report to pools."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dra_inventory.core.inventory import Inventory
from dra_inventory.core.liveness import Ears, changes
from dra_inventory.core.nodes import Node
from dra_inventory.core.slices import slices
from dra_inventory.core.verify import verify
from dra_shared.events.envelope import AnyFact, Envelope
from dra_shared.events.fact import MOST_BYTES, size_of
from dra_shared.events.nodes import (
    AgentStarted,
    DeviceFaultCleared,
    DeviceFaultRaised,
    DevicesReported,
    ReportedDevice,
    Severity,
)
from dra_shared.events.pools import (
    NodeLost,
    NodeReturned,
    PoolPublished,
    PoolWithdrawn,
    WithdrawalReason,
)
from dra_shared.events.subjects import subject
from dra_shared.events.writers import StateRecorded
from dra_shared.kube.devices import CounterSet, Device, DeviceAttribute
from dra_shared.log.protocol import Record

DRIVER = "gpu.example.com"


class History:
    """A log that the inventory writes to after each fact, as the service does."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.state = Inventory()

    def add(self, fact: AnyFact, cause: int = 0) -> None:
        sequence = len(self.records) + 1
        event = Envelope(id=str(sequence), cause=cause, actor="test", fact=fact)
        record = Record(sequence, sequence * 1_000_000_000, subject(fact), event)
        self.records.append(record)
        self.state.apply(record)

    def happen(self, *facts: AnyFact) -> "History":
        for fact in facts:
            self.add(fact)
            for decided in self.state.decide("n1"):
                self.add(decided, cause=self.state.applied)
        return self

    def pool(self) -> PoolPublished | PoolWithdrawn:
        return self.state.pools[DRIVER, "n1"]

    def published(self) -> PoolPublished:
        pool = self.pool()
        assert isinstance(pool, PoolPublished)
        return pool


def started(*drivers: str) -> AgentStarted:
    return AgentStarted(node="n1", boot_id="b", agent_version="0", drivers=drivers)


def reported(*devices: Device, sets: tuple[CounterSet, ...] = ()) -> DevicesReported:
    found = tuple(ReportedDevice(identity=device.name, device=device) for device in devices)
    return DevicesReported(node="n1", driver=DRIVER, devices=found, counter_sets=sets)


def gpus(count: int) -> tuple[Device, ...]:
    return tuple(Device(name=f"gpu-{n}") for n in range(count))


def fault(severity: Severity, cause: str = "xid-79") -> DeviceFaultRaised:
    return DeviceFaultRaised(
        node="n1", driver=DRIVER, device="gpu-0", cause=cause, severity=severity
    )


def weighty(size: int) -> Device:
    """A device with an attribute of so many bytes."""
    return Device(name="gpu-0", attributes={"a": DeviceAttribute(string="x" * size)})


ROOM = MOST_BYTES - size_of(
    PoolPublished(
        driver=DRIVER,
        pool="n1",
        node="n1",
        generation=1,
        slices=slices(Node(name="n1", reports={DRIVER: reported(weighty(0))}), DRIVER, 1),
    )
)
"""Bytes that the attribute of a weighty device may have, if it is alone."""


def too_large(size: int) -> PoolWithdrawn:
    reason = WithdrawalReason.TOO_LARGE
    return PoolWithdrawn(driver=DRIVER, pool="n1", node="n1", reason=reason, size=size)


def running(*devices: Device) -> History:
    return History().happen(started(DRIVER), reported(*devices))


def test_reported_devices_become_a_pool_named_after_the_node() -> None:
    pool = running(*gpus(8)).published()
    assert (pool.generation, len(pool.slices)) == (1, 1)
    assert [d.name for d in pool.slices[0].devices or ()] == [f"gpu-{n}" for n in range(8)]
    assert pool.slices[0].node_name == "n1"


def test_the_same_report_again_publishes_nothing() -> None:
    history = running(*gpus(2)).happen(reported(*gpus(2)), started(DRIVER))
    assert history.published().generation == 1


def test_generations_only_grow_and_counts_agree() -> None:
    history = running(*gpus(300))
    seen = [history.published()]
    for devices in (gpus(100), (), gpus(5)):
        history.happen(reported(*devices))
        seen.append(history.published())
    assert [pool.generation for pool in seen] == [1, 2, 3, 4]
    assert [len(pool.slices) for pool in seen] == [3, 1, 1, 1]
    for pool in seen:
        assert {s.pool.resource_slice_count for s in pool.slices} == {len(pool.slices)}
        assert {s.pool.generation for s in pool.slices} == {pool.generation}


@given(st.lists(st.booleans(), max_size=400))
def test_slices_keep_the_limits_and_the_order_of_devices(listy: list[bool]) -> None:
    many = DeviceAttribute(ints=(1, 2))
    devices = [
        Device(name=f"d-{n}", attributes={"a": many} if extra else None)
        for n, extra in enumerate(listy)
    ]
    slices = running(*devices).published().slices
    assert [d.name for s in slices for d in s.devices or ()] == [d.name for d in devices]
    for part in slices:
        extras = any(d.attributes for d in part.devices or ())
        assert len(part.devices or ()) <= (64 if extras else 128)


def test_counter_sets_stand_in_slices_of_their_own_before_the_devices() -> None:
    sets = tuple(CounterSet(name=f"s-{n}") for n in range(9))
    history = History().happen(started(DRIVER), reported(*gpus(2), sets=sets))
    shapes = [
        (len(s.shared_counters or ()), len(s.devices or ())) for s in history.published().slices
    ]
    assert shapes == [(8, 0), (1, 0), (0, 2)]


def test_a_fault_taints_its_device_until_every_cause_is_cleared() -> None:
    history = running(*gpus(2)).happen(fault(Severity.CRITICAL), fault(Severity.NOTE, "warm"))
    taints = (history.published().slices[0].devices or ())[0].taints or ()
    assert [(t.key, t.effect) for t in taints] == [
        (f"{DRIVER}/warm", "None"),
        (f"{DRIVER}/xid-79", "NoExecute"),
    ]
    cleared = DeviceFaultCleared(node="n1", driver=DRIVER, device="gpu-0", cause="xid-79")
    history.happen(cleared)
    left = (history.published().slices[0].devices or ())[0].taints or ()
    assert [t.key for t in left] == [f"{DRIVER}/warm"]


def test_a_fault_reported_twice_keeps_the_time_of_the_first_report() -> None:
    history = running(*gpus(1)).happen(fault(Severity.CRITICAL))
    before = history.published()
    history.happen(fault(Severity.CRITICAL))
    assert history.published() == before


def test_a_lost_node_offers_nothing_and_a_returned_one_the_next_edition() -> None:
    history = running(*gpus(2)).happen(NodeLost(node="n1", silent_for=9.0))
    assert isinstance(history.pool(), PoolWithdrawn)
    history.happen(NodeReturned(node="n1"))
    assert history.published().generation == 2


def test_a_driver_that_the_agent_no_longer_serves_is_withdrawn() -> None:
    history = running(*gpus(2)).happen(started("other.example.com"))
    assert isinstance(history.pool(), PoolWithdrawn)


def test_an_attribute_has_one_spelling() -> None:
    both = {f"{DRIVER}/numa": DeviceAttribute(integer=1), "numa": DeviceAttribute(integer=0)}
    pool = running(Device(name="a", attributes=both)).published()
    assert (pool.slices[0].devices or ())[0].attributes == {"numa": DeviceAttribute(integer=0)}


def test_a_pool_that_just_fits_is_published_and_one_byte_more_is_refused() -> None:
    assert size_of(running(weighty(ROOM)).published()) == MOST_BYTES
    assert running(weighty(ROOM + 1)).pool() == too_large(MOST_BYTES + 1)


def test_a_pool_that_grew_too_large_is_withdrawn_until_it_fits_again() -> None:
    history = running(weighty(1)).happen(*[reported(weighty(ROOM + 9))] * 2)
    assert history.pool() == too_large(MOST_BYTES + 9)
    assert len(history.records) == 6, "the refusal is told once"
    history.happen(reported(weighty(ROOM + 3)))
    assert history.pool() == too_large(MOST_BYTES + 3)
    history.happen(reported(weighty(2)))
    assert history.published().generation == 2


def test_taints_may_be_what_makes_a_pool_too_large() -> None:
    history = running(weighty(ROOM)).happen(fault(Severity.CRITICAL))
    assert isinstance(history.pool(), PoolWithdrawn)
    history.happen(DeviceFaultCleared(node="n1", driver=DRIVER, device="gpu-0", cause="xid-79"))
    assert history.published().generation == 2


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (NodeLost(node="n1", silent_for=9.0), WithdrawalReason.NODE_LOST),
        (started(), WithdrawalReason.DRIVER_GONE),
    ],
)
def test_a_refusal_is_over_once_the_node_or_the_driver_is_gone(
    end: AnyFact, reason: WithdrawalReason
) -> None:
    history = running(weighty(ROOM + 1)).happen(end, end)
    pool = history.pool()
    assert isinstance(pool, PoolWithdrawn)
    assert (pool.reason, pool.size) == (reason, 0)
    history.happen(NodeReturned(node="n1"), started(DRIVER))
    assert history.pool() == too_large(MOST_BYTES + 1)


@given(
    st.lists(
        st.sampled_from([0, ROOM // 2, ROOM - 50, ROOM + 1]).map(lambda n: reported(weighty(n)))
        | st.sampled_from([fault(Severity.NOTE), NodeLost(node="n1", silent_for=9.0)])
        | st.sampled_from([NodeReturned(node="n1"), started(), started(DRIVER)]),
        max_size=6,
    )
)
def test_no_fact_is_larger_than_the_log_takes_and_each_follows(facts: list[AnyFact]) -> None:
    history = running(weighty(0)).happen(*facts)
    decided = [r.envelope.fact for r in history.records if r.envelope.cause]
    assert max(map(size_of, decided)) <= MOST_BYTES
    assert list(verify(history.records)) == []


def test_replaying_the_log_gives_every_decision_again() -> None:
    history = running(*gpus(130)).happen(
        fault(Severity.DEGRADED), NodeLost(node="n1", silent_for=9)
    )
    history.add(
        StateRecorded(
            writer="inventory", upto=history.state.applied, state_hash=history.state.state_hash()
        )
    )
    assert list(verify(history.records)) == []


def test_a_decision_that_does_not_follow_is_found() -> None:
    history = running(*gpus(2))
    forged = PoolPublished(driver=DRIVER, pool="n1", node="n1", generation=7, slices=())
    history.add(forged, cause=history.state.applied)
    history.add(StateRecorded(writer="inventory", upto=1, state_hash="no such hash"))
    assert [record.sequence for record, _ in verify(history.records)] == [4, 5]


def test_a_silent_node_is_lost_and_one_heard_again_returns() -> None:
    nodes = {"n1": Node(name="n1"), "n2": Node(name="n2", lost=True)}
    ears = Ears(listening_since=0.0)
    ears.listen((), 1.0, longest_gap=100)
    ears.listen(("n2",), 9.0, longest_gap=100)
    found = changes(nodes, ears, 9.0, patience=5.0)
    assert found == (NodeLost(node="n1", silent_for=9.0), NodeReturned(node="n2"))


def test_whoever_did_not_listen_does_not_call_others_silent() -> None:
    ears = Ears(listening_since=0.0)
    ears.listen(("n1",), 1.0, longest_gap=3)
    ears.listen((), 60.0, longest_gap=3)
    assert changes({"n1": Node(name="n1")}, ears, 60.0, patience=5.0) == ()
