"""The ledger: what was written is there after a reopening, a damaged file is put aside."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from node_facts import a_result, an_allocation
from unit.node_agent.builders import a_planned, a_record

from dra_node_agent.core.lifecycle import Phase
from dra_node_agent.edge.ledger import Ledger
from dra_node_agent.edge.ledger_file import FILE, LedgerFileError, alone, open_ledger
from dra_shared.events.allocations import AllocationAdopted, ClaimReleased, ReleaseReason
from dra_shared.events.envelope import Envelope
from dra_shared.events.nodes import AgentStarted
from dra_shared.ids import ObjectRef
from dra_shared.log.protocol import Record

C1 = ObjectRef("ns", "c1", "c1-uid")
STARTED = AgentStarted(node="n", boot_id="b", agent_version="1", drivers=())


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    made = open_ledger(tmp_path, "n", "b")
    yield made
    made.close()


def reopened(path: Path) -> Ledger:
    return open_ledger(path, "n", "b")


def a_logged(sequence: int, fact: AllocationAdopted | ClaimReleased) -> Record:
    event = Envelope(id=str(sequence), actor="allocator", fact=fact)
    return Record(sequence=sequence, time_ns=0, subject="s", envelope=event)


ADOPTED = AllocationAdopted(
    claim=C1, node="n", allocation=an_allocation(a_result("gpu-0")), costs=()
)
RELEASED = ClaimReleased(claim=C1, node="n", reason=ReleaseReason.CLAIM_WITHDRAWN)


async def test_a_state_directory_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(LedgerFileError, match=f"STATE_DIR={tmp_path}/file/state"):
        async with alone(tmp_path / "file" / "state"):
            pass


def test_a_record_its_fact_and_the_position_outlive_the_process(
    ledger: Ledger, tmp_path: Path
) -> None:
    record = a_record("c1", a_planned(share_id="s"))
    ledger.learn([a_logged(7, ADOPTED)])
    ledger.write(record, STARTED)
    ledger.close()
    again = reopened(tmp_path)
    assert again.record("c1-uid", record.driver) == record
    assert again.live(record.driver) == (record,)
    assert again.position == 7
    known = again.allocation("c1-uid")
    assert known is not None
    assert known.allocation == ADOPTED.allocation
    ((_, event),) = again.outbox(10)
    assert (event.fact, event.cause, event.actor) == (STARTED, 7, "node-agent/n")
    again.close()


def test_ids_count_on_over_restarts_and_never_repeat_after_a_loss(tmp_path: Path) -> None:
    ids = []
    for _ in range(3):
        for _ in range(2):
            ledger = reopened(tmp_path)
            ledger.tell(STARTED, STARTED)
            ids += [event.id for _, event in ledger.outbox(10)]
            ledger.sent(ledger.outbox(10)[-1][0])
            ledger.close()
        (tmp_path / FILE).unlink()
    assert len(set(ids)) == len(ids) == 12
    assert all(one.startswith("n:b:") for one in ids)


def test_facts_leave_the_outbox_in_order_and_only_when_sent(ledger: Ledger) -> None:
    ledger.tell(STARTED, STARTED, STARTED)
    (first, _), (second, _) = ledger.outbox(2)
    assert first < second
    ledger.sent(second)
    assert ledger.waiting() == 1
    assert ledger.outbox(5)[0][0] > second


def test_a_fact_is_left_out_without_those_around_it(ledger: Ledger) -> None:
    ledger.tell(STARTED, STARTED, STARTED)
    first, second, third = (number for number, _ in ledger.outbox(5))
    ledger.leave_out(second)
    assert [number for number, _ in ledger.outbox(5)] == [first, third]


def test_a_release_is_forgetting_the_allocation(ledger: Ledger) -> None:
    ledger.learn([a_logged(1, ADOPTED), a_logged(2, RELEASED)])
    assert ledger.allocation("c1-uid") is None
    assert ledger.position == 2


def test_a_new_ledger_does_not_know_the_log_even_if_the_log_is_empty(ledger: Ledger) -> None:
    before = ledger.knows_log
    ledger.read_to(0)
    assert (before, ledger.knows_log) == (False, True)
    assert ledger.position == 0


def test_a_claim_that_is_gone_holds_nothing_but_is_remembered(ledger: Ledger) -> None:
    gone = a_record(phase=Phase.GONE)
    ledger.write(gone)
    assert ledger.live(gone.driver) == ()
    assert ledger.record("c1-uid", gone.driver) == gone


def test_so_many_gone_claims_are_remembered_and_no_more(
    ledger: Ledger,
) -> None:
    ledger.remembered = 3
    ledger.write(a_record("living"))
    for number in range(5):
        ledger.write(a_record(f"g{number}", phase=Phase.GONE))
    remembered = [ledger.record(f"g{n}-uid", "gpu.example.com") for n in range(5)]
    assert [record is not None for record in remembered] == [False, False, True, True, True]
    assert ledger.record("living-uid", "gpu.example.com")


@pytest.mark.parametrize("damage", [b"no database at all" * 100, b""])
def test_a_damaged_ledger_is_put_aside_and_an_empty_file_is_a_new_one(
    tmp_path: Path, damage: bytes
) -> None:
    (tmp_path / FILE).write_bytes(damage)
    ledger = reopened(tmp_path)
    assert not ledger.knows_log
    ledger.close()
    aside = list(tmp_path.glob("*.damaged-*"))
    assert [path.read_bytes() for path in aside] == ([damage] if damage else [])


def test_a_torn_page_inside_is_damage_too(tmp_path: Path) -> None:
    ledger = reopened(tmp_path)
    for number in range(200):
        ledger.write(a_record(f"c{number}", a_planned(env=("x" * 100,))))
    ledger.close()
    path = tmp_path / FILE
    content = bytearray(path.read_bytes())
    content[8192:12288] = b"\xff" * 4096
    path.write_bytes(content)
    ledger = reopened(tmp_path)
    assert ledger.live("gpu.example.com") == ()
    ledger.close()
    assert list(tmp_path.glob("*.damaged-*"))


def test_a_ledger_of_a_newer_release_is_not_touched(tmp_path: Path) -> None:
    ledger = reopened(tmp_path)
    ledger._database.execute("PRAGMA user_version = 99")
    ledger.close()
    with pytest.raises(LedgerFileError, match="newer"):
        reopened(tmp_path)
    assert not list(tmp_path.glob("*.damaged-*"))
