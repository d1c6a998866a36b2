"""Small histories for tests of the CLI, decided by the real cores, in memory or in a file."""

from collections.abc import Sequence
from pathlib import Path

from click.testing import CliRunner, Result
from cluster import DRIVER, Story, a_claim, a_class, a_device, a_node, a_pod, a_request, ref

from dra_cli.__main__ import main
from dra_inventory.core.inventory import Inventory
from dra_shared.events.envelope import Envelope
from dra_shared.events.nodes import AgentStarted, ClaimPrepared, DevicesReported, ReportedDevice
from dra_shared.log.lines import json_line
from dra_shared.log.protocol import Record


def a_history() -> Story:
    """Nodes n1 (two devices) and n2 (one); claim `one` is held and set up, `many` is too much."""
    story = Story()
    story.tell(a_class())
    for node, count in (("n1", 2), ("n2", 1)):
        names = [f"d{number}" for number in range(count)]
        found = tuple(ReportedDevice(identity=name, device=a_device(name)) for name in names)
        story.tell(
            a_node(node),
            AgentStarted(node=node, boot_id="b", agent_version="1", drivers=(DRIVER,)),
            DevicesReported(node=node, driver=DRIVER, devices=found),
        )
        _publish(story, node)
    story.tell(a_claim("one"), a_pod("user", "one"))
    story.decide()
    story.tell(ClaimPrepared(node="n2", driver=DRIVER, claim=ref("one"), boot_id="b", devices=()))
    story.tell(a_claim("many", a_request("r", 5)), a_pod("eater", "many"))
    story.decide()
    return story


def _publish(story: Story, node: str) -> None:
    inventory = Inventory()
    for record in story.records:
        inventory.apply(record)
    for fact in inventory.decide(node):
        identity = f"inventory:{inventory.applied}"
        story.append(Envelope(id=identity, cause=inventory.applied, actor="inventory@1", fact=fact))


def a_file(folder: Path, records: Sequence[Record]) -> str:
    """A log file with these records; its path."""
    path = folder / "ledger.jsonl"
    path.write_bytes(b"".join(json_line(record) + b"\n" for record in records))
    return str(path)


def dra(*words: str) -> Result:
    """What the command prints and how it ends."""
    return CliRunner().invoke(main, words, catch_exceptions=False)
