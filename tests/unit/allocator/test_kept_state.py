"""What is kept in step with the facts equals what is built from them anew, at any moment."""

from cluster import Story
from histories import NODES, STEPS, Step, go_on, start
from hypothesis import given

from dra_allocator.core.replay import replay
from dra_allocator.core.search.shapes import RequestShape
from dra_allocator.core.state import ClusterState
from dra_allocator.core.verify import verify
from dra_shared.events.allocations import ClaimUnsatisfiable
from dra_shared.events.fact import Placement
from dra_shared.ids import DeviceId

SHAPE = RequestShape(class_selectors=('device.driver == "dev.lab.example"',))
PLACEMENTS = (Placement(), Placement(cpu_milli=1500))


def kept(state: ClusterState) -> dict[str, object]:
    """All answers of the kept structures."""
    return {
        "hash": state.hash(),
        "held": {
            (node, device): sorted(
                map(str, state.in_use.holders(DeviceId("dev.lab.example", node, device)))
            )
            for node in NODES
            for device in ("d0", "d1", "d2", "s0")
        },
        "taken": {
            name: (t.cpu_milli, t.memory_bytes, t.pods) for name, t in state.nodes.taken().items()
        },
        "fit": [state.nodes.fit(placement).mask() for placement in PLACEMENTS],
        "free": state.counts.of(SHAPE).by_node(),
        "free for admins": state.counts.of(SHAPE, admin=True).by_node(),
        "at least": [state.counts.of(SHAPE).with_at_least(need) for need in range(4)],
        "seen": {
            name: [
                [d.id.device for d in pool.devices]
                for pool in state.pools.pools_of(state.nodes.view(name))
            ]
            for name in state.nodes.names
        },
    }


@given(STEPS)
def test_kept_state_equals_the_state_replayed_from_the_log(steps: list[Step]) -> None:
    story = start()
    for step in steps:
        go_on(story, step)
        kept(story.state)
        if not story.unsent:
            assert kept(story.state) == kept(replay(story.records))


@given(STEPS)
def test_the_log_verifies_whatever_happened(steps: list[Step]) -> None:
    story = start()
    for step in steps:
        go_on(story, step)
    story.decide()
    assert list(verify(story.records)) == []


@given(STEPS)
def test_nothing_is_left_to_say_once_everything_was_said(steps: list[Step]) -> None:
    story = start()
    for step in steps:
        go_on(story, step)
    story.decide()
    assert story.decide() == []
    story.send()
    assert story.decide() == []


@given(STEPS)
def test_a_new_allocator_on_the_same_log_only_brings_reasons_up_to_date(steps: list[Step]) -> None:
    story = start()
    for step in steps:
        go_on(story, step)
    story.decide()
    successor = Story()
    for record in story.records:
        successor.engine.take(record)
    assert all(isinstance(fact, ClaimUnsatisfiable) for fact in successor.decide())
