"""The life of a claim is a table: every cell leads on or is a typed error."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.node_agent.builders import a_record

from dra_node_agent.core.lifecycle import TRANSITIONS, IllegalStepError, Phase, Step, next_phase

CELLS = tuple(product(Phase, Step))


@pytest.mark.parametrize(("phase", "step"), CELLS)
def test_every_cell_leads_on_or_is_a_typed_error(phase: Phase, step: Step) -> None:
    if (phase, step) in TRANSITIONS:
        assert next_phase(phase, step) in Phase
    else:
        with pytest.raises(IllegalStepError, match=f"{step} in phase {phase}"):
            next_phase(phase, step)


def test_every_phase_that_holds_devices_can_be_undone() -> None:
    for phase in set(Phase) - {Phase.GONE, Phase.UNDOING}:
        assert TRANSITIONS[phase, Step.BEGIN_UNDO] is Phase.UNDOING
    assert TRANSITIONS[Phase.UNDOING, Step.FINISH_UNDO] is Phase.GONE


def test_every_phase_that_holds_devices_outlives_a_reboot_and_goes_on_holding_them() -> None:
    for phase in set(Phase) - {Phase.GONE}:
        assert TRANSITIONS[phase, Step.REBOOT] is not Phase.GONE


@given(st.lists(st.sampled_from(Step), max_size=20))
def test_no_path_leads_to_prepared_but_through_a_set_up_of_the_same_boot(steps: list[Step]) -> None:
    phase, set_up_in_this_boot = Phase.GONE, False
    for step in steps:
        if (phase, step) not in TRANSITIONS:
            continue
        phase = next_phase(phase, step)
        if step is Step.BEGIN_SET_UP:
            set_up_in_this_boot = True
        elif step in (Step.REBOOT, Step.FINISH_UNDO):
            set_up_in_this_boot = False
        assert phase is not Phase.PREPARED or set_up_in_this_boot


def test_a_step_notes_the_boot_in_which_it_was_taken() -> None:
    after = a_record(boot="b1").after(Step.REBOOT, "b2")
    assert (after.phase, after.boot_id) == (Phase.ACCEPTED, "b2")
