"""Reports: only what changed becomes a fact, and the facts add up to the report again."""

from hypothesis import given
from hypothesis import strategies as st

from dra_node_agent.core.inventory import Fault, FoundDevice, Inventory
from dra_node_agent.core.report import Report, changes, evolve, only_faults, report
from dra_shared.events.nodes import DeviceFaultCleared, DeviceFaultRaised, DevicesReported, Severity
from dra_shared.kube.devices import Device


def a_found(name: str, *faults: Fault, serial: str = "") -> FoundDevice:
    return FoundDevice(identity=serial or f"S-{name}", device=Device(name=name), faults=faults)


def a_report(*devices: FoundDevice) -> Report:
    return report(Inventory(devices=devices))


HOT = Fault(cause="hot", severity=Severity.DEGRADED)
DEAD = Fault(cause="dead", severity=Severity.CRITICAL, message="no answer")
REPORTS = st.lists(
    st.builds(
        lambda name, faults: a_found(name, *faults),
        st.sampled_from(["d0", "d1", "d2"]),
        st.lists(st.sampled_from([HOT, DEAD]), unique=True),
    ),
    unique_by=lambda found: found.device.name,
).map(lambda found: a_report(*found))


def test_nothing_new_is_no_fact() -> None:
    assert changes("n", "d", a_report(a_found("d0", HOT)), a_report(a_found("d0", HOT))) == ()


def test_a_driver_without_devices_says_so_once() -> None:
    (fact,) = changes("n", "d", None, a_report())
    assert fact == DevicesReported(node="n", driver="d", devices=())
    assert changes("n", "d", a_report(), a_report()) == ()


def test_another_piece_of_hardware_under_the_same_name_is_a_change() -> None:
    old, new = a_report(a_found("d0", serial="S0")), a_report(a_found("d0", serial="S1"))
    assert len(changes("n", "d", old, new)) == 1


def test_each_cause_is_raised_and_cleared_by_itself() -> None:
    raised = changes("n", "d", a_report(a_found("d0", HOT)), a_report(a_found("d0", HOT, DEAD)))
    assert [type(fact) for fact in raised] == [DeviceFaultRaised]
    cleared = changes("n", "d", a_report(a_found("d0", HOT, DEAD)), a_report(a_found("d0", DEAD)))
    assert cleared == (DeviceFaultCleared(node="n", driver="d", device="d0", cause="hot"),)


@given(st.one_of(st.none(), REPORTS), REPORTS)
def test_the_facts_turn_the_old_report_into_the_new_one(old: Report | None, new: Report) -> None:
    known = old
    for fact in changes("n", "d", old, new):
        known = evolve(known, fact)
    assert known == new
    assert changes("n", "d", known, new) == ()


@given(REPORTS, REPORTS)
def test_what_is_too_large_to_be_told_leaves_the_devices_and_tells_their_faults(
    known: Report, new: Report
) -> None:
    told = only_faults(known, new)
    here = {found.device.name for found in new.devices}
    assert told.devices == known.devices
    for device in known.devices:
        name = device.device.name
        source = new if name in here else known
        assert told.faults.get(name) == source.faults.get(name)
    assert told.faults.keys() <= {device.device.name for device in known.devices}
