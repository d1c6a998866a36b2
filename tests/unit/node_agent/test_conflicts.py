"""The node itself refuses a device that another claim still holds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.node_agent.builders import a_planned, a_record

from dra_node_agent.core.conflicts import conflict
from dra_node_agent.core.lifecycle import Phase
from dra_node_agent.core.record import PlannedDevice

HOLDING = [phase for phase in Phase if phase is not Phase.GONE]


@pytest.mark.parametrize("phase", HOLDING)
def test_a_device_is_refused_while_another_claim_is_anything_but_gone(phase: Phase) -> None:
    refused = conflict(a_record("c2"), [a_record("c1", phase=phase)])
    assert refused is not None
    assert "c1" in refused.cause
    assert "gpu-0" in refused.cause
    assert not refused.permanent


def test_a_claim_that_is_gone_or_the_same_holds_nothing_against_it() -> None:
    assert conflict(a_record("c2"), [a_record("c1", phase=Phase.GONE), a_record("c2")]) is None


def test_shares_go_together_and_so_does_admin_access() -> None:
    def together(one: PlannedDevice, other: PlannedDevice) -> bool:
        return conflict(a_record("c2", one), [a_record("c1", other)]) is None

    assert together(a_planned(share_id="s1"), a_planned(share_id="s2"))
    assert not together(a_planned(share_id="s1"), a_planned())
    assert not together(a_planned(share_id="s1"), a_planned(share_id="s1"))
    assert together(a_planned(admin=True), a_planned())
    assert together(a_planned(), a_planned(admin=True))


def test_one_piece_of_hardware_under_two_names_is_one_device() -> None:
    one, other = a_planned("gpu-0", identity="S0"), a_planned("gpu-7", identity="S0")
    assert conflict(a_record("c2", one), [a_record("c1", other)]) is not None


def devices() -> st.SearchStrategy[PlannedDevice]:
    return st.builds(
        a_planned,
        st.sampled_from(["gpu-0", "gpu-1"]),
        share_id=st.sampled_from([None, "s1", "s2"]),
        admin=st.booleans(),
    )


@given(devices(), devices())
def test_who_came_first_does_not_matter(one: PlannedDevice, other: PlannedDevice) -> None:
    first = conflict(a_record("c1", one), [a_record("c2", other)])
    second = conflict(a_record("c2", other), [a_record("c1", one)])
    assert (first is None) == (second is None)
