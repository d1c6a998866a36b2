"""Whatever fails, crashes or reboots in whatever order: no device twice, nothing left behind."""

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from node_facts import a_result, an_allocation
from unit.node_agent.builders import a_driver, a_planned

from dra_node_agent.core import cdi
from dra_node_agent.core.inventory import Inventory
from dra_node_agent.core.lifecycle import Phase
from dra_node_agent.core.profiles.profile import Sizes
from dra_node_agent.core.record import ClaimRecord, Refused
from dra_node_agent.edge.cdi_directory import CdiDirectory
from dra_node_agent.edge.faults import FaultPoints, InjectedFaultError, Point
from dra_node_agent.edge.feed import Feed
from dra_node_agent.edge.ledger_file import open_ledger
from dra_node_agent.edge.plugin import Plugin
from dra_node_agent.edge.preparation import Preparation, Site, Tools
from dra_node_agent.edge.recovery import Recovery
from dra_node_agent.edge.simulated import Hardware, SimulatedDevices
from dra_node_agent.edge.turns import Turns
from dra_shared.events.allocations import AllocationAdopted
from dra_shared.events.envelope import Envelope
from dra_shared.ids import ObjectRef
from dra_shared.log.protocol import Record

DRIVER = a_driver()
GPUS = ("gpu-0", "gpu-1")
WANTS = {"c1": ("gpu-0",), "c2": ("gpu-1",), "c3": GPUS}
CLAIMS = {name: ObjectRef("ns", name, name) for name in WANTS}
Op = tuple[str, str, Point | None, str]


class Crash(BaseException):
    """The agent's end in the middle of something."""


class Trap(FaultPoints):
    """Strikes once, at one point, with an error or a crash."""

    def __init__(self) -> None:
        super().__init__(None)
        self.point: Point | None = None
        self.kind = ""

    async def reach(self, point: Point, driver: str, claim: str, device: str = "") -> None:
        if point is not self.point:
            return
        self.point = None
        if self.kind == "crash":
            raise Crash
        raise InjectedFaultError(f"{point} of {claim} {device} at {driver}")


class Machine:
    """A node whose agent can crash and come back, and which can be rebooted."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.boots = 1
        self.trap = Trap()

    async def start(self) -> None:
        """Another agent takes up what there is, undisturbed."""
        self.trap.point = None
        boot = f"boot-{self.boots}"
        self.ledger = open_ledger(self.root, "n", boot)
        hardware = Hardware(
            node="n", boot_id=boot, directory=self.root / "devices", sizes=Sizes(devices=2)
        )
        self.devices = SimulatedDevices(DRIVER, hardware, self.trap)
        inventory = await self.devices.scan()
        self.preparation, recovery, turns = self._parts(boot, inventory)
        self._allocate()
        await recovery.from_cdi(boot)
        await turns.settle(5)

    def _parts(self, boot: str, inventory: Inventory) -> tuple[Preparation, Recovery, Turns]:
        directory = CdiDirectory(self.root / "cdi", DRIVER, self.trap)
        directory.start("n")
        tools = Tools(
            ledger=self.ledger,
            feed=Feed(self.ledger, "n"),
            cdi=directory,
            scanner=self.devices,
            faults=self.trap,
            inventory=lambda: inventory,
        )
        site = Site(node="n", boot_id=boot, allocation_patience=0, effect_patience=5)
        preparation, turns = Preparation(DRIVER, site, tools), Turns()
        plugin = Plugin(DRIVER.name, "n", turns, 5)
        plugin.open(preparation, self.ledger)
        return preparation, Recovery(plugin, preparation, self.ledger, directory), turns

    def _allocate(self) -> None:
        """Gives all claims their devices, more than there are: what no allocator should."""
        for number, (name, gpus) in enumerate(WANTS.items()):
            fact = AllocationAdopted(
                claim=CLAIMS[name],
                node="n",
                allocation=an_allocation(*(a_result(gpu) for gpu in gpus)),
                costs=(),
            )
            event = Envelope(id=name, actor="allocator", fact=fact)
            self.ledger.learn([Record(number + 1, 0, "s", event)])

    async def take(self, op: Op) -> None:
        """One call, with a trap on its way."""
        call, name, self.trap.point, self.trap.kind = op
        if call == "reboot":
            self.ledger.close()
            self.boots += 1
            await self.start()
            return
        try:
            if call == "prepare":
                await self.preparation.prepare(CLAIMS[name])
            else:
                await self.preparation.unprepare(name)
        except Crash:
            self.ledger.close()
            await self.start()
        self.trap.point = None

    def live(self) -> dict[str, ClaimRecord]:
        return {record.claim.uid: record for record in self.ledger.live(DRIVER.name)}

    def files(self) -> set[str]:
        found = (cdi.uid_of(DRIVER, path.name) for path in (self.root / "cdi").iterdir())
        return {uid for uid in found if uid}

    def check(self) -> None:
        """What must hold at rest, whatever happened before."""
        live = self.live()
        held = [device.device for record in live.values() for device in record.devices]
        assert len(set(held)) == len(held), "a device is held twice"
        assert self.files() <= set(live), "a file of a claim that is gone"
        for gpu in GPUS:
            users = {claim for claim, _ in self.devices._holders(a_planned(gpu))}
            assert users <= {uid for uid in live if gpu in WANTS[uid]}, "set up for nobody"
        for uid, record in live.items():
            assert record.phase is not Phase.ACCEPTED or uid not in self.files()
            if record.phase is Phase.PREPARED:
                assert uid in self.files()
                for gpu in WANTS[uid]:
                    assert (uid, None) in self.devices._holders(a_planned(gpu))


OPS = st.tuples(
    st.sampled_from(["prepare", "prepare", "unprepare", "reboot"]),
    st.sampled_from(sorted(WANTS)),
    st.one_of(st.none(), st.sampled_from(Point)),
    st.sampled_from(["crash", "error"]),
)


@given(st.lists(OPS, max_size=12))
def test_no_order_of_calls_faults_crashes_and_reboots_breaks_the_rules(ops: Sequence[Op]) -> None:
    async def live() -> None:
        with tempfile.TemporaryDirectory() as root:
            machine = Machine(Path(root))
            await machine.start()
            machine.check()
            for op in ops:
                await machine.take(op)
                machine.check()
            for name in WANTS:
                assert await machine.preparation.unprepare(name) is None
            machine.check()
            assert (machine.live(), machine.files()) == ({}, set())
            answer: Any = await machine.preparation.prepare(CLAIMS["c3"])
            assert not isinstance(answer, Refused), answer
            machine.ledger.close()

    asyncio.run(live())
