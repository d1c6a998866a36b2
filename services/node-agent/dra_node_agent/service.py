"""The agent put together: builds the adapters, starts them in order, ends them in order."""

import asyncio
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final

import structlog

from dra_node_agent.core.history import History
from dra_node_agent.core.plan import Driver
from dra_node_agent.core.report import Report
from dra_node_agent.core.sockets import SocketPathError, socket_paths
from dra_node_agent.edge import meters
from dra_node_agent.edge.boot import read_boot_id
from dra_node_agent.edge.cdi_directory import CdiDirectory, CdiError
from dra_node_agent.edge.faults import FaultPoints
from dra_node_agent.edge.feed import Feed
from dra_node_agent.edge.kubelet import PluginServers
from dra_node_agent.edge.ledger_file import LedgerFileError, alone, open_ledger
from dra_node_agent.edge.outbox import Outbox
from dra_node_agent.edge.plugin import Plugin
from dra_node_agent.edge.preparation import Preparation, Site, Tools
from dra_node_agent.edge.recovery import Recovery
from dra_node_agent.edge.simulated import Hardware, SimulatedDevices
from dra_node_agent.edge.stock import Stock, write_changes
from dra_node_agent.edge.turns import Turns
from dra_node_agent.settings import AgentSettings
from dra_shared.events.nodes import AgentStarted, AgentStopped
from dra_shared.log.jetstream import JetStreamLog
from dra_shared.log.protocol import EventLog, LogUnavailableError
from dra_shared.runtime import bus, liveness
from dra_shared.runtime.endpoint import Readiness
from dra_shared.runtime.settings import SettingsError

FAREWELL: Final = 2.0
"""Seconds that work in hand, and then the last facts, get when the agent stops."""

RETRY: Final = 1.0
SWEEP: Final = 10.0
"""Seconds between tries to finish what could not be undone."""

_log = structlog.get_logger()


async def run(settings: AgentSettings, readiness: Readiness) -> None:
    """Serves the kubelet until cancelled.

    Raises SettingsError for directories that cannot be used. The kubelet's calls wait until the
    state directory is this process's own; NATS may come and go.
    """
    drivers = settings.drivers()
    turns = Turns()
    plugins = {
        driver.name: Plugin(driver.name, settings.node_name, turns, settings.answer_seconds)
        for driver in drivers
    }
    servers = _servers(settings, tuple(plugins.values()), readiness)
    try:
        for server in servers:
            await server.start()
        readiness.there("start")
        async with alone(Path(settings.state_dir)):
            await Agent(settings, drivers, plugins, turns, readiness).live(servers)
    except (CdiError, LedgerFileError) as error:
        raise SettingsError(str(error)) from error
    finally:
        await _stop(servers)


def _servers(
    settings: AgentSettings, plugins: Sequence[Plugin], readiness: Readiness
) -> tuple[PluginServers, ...]:
    def registered(driver: str, refusal: str) -> None:
        (readiness.missing if refusal else readiness.there)(f"registration of {driver}")

    servers = []
    for plugin in plugins:
        readiness.missing(f"registration of {plugin.driver}")
        try:
            paths = socket_paths(
                plugin.driver,
                settings.kubelet_registrar_directory_path,
                settings.kubelet_plugins_directory_path,
                settings.pod_uid,
            )
        except SocketPathError as error:
            raise SettingsError(str(error)) from error
        servers.append(PluginServers(plugin, paths, registered))
    return tuple(servers)


async def _stop(servers: Sequence[PluginServers]) -> None:
    await asyncio.gather(*(server.stop() for server in servers))


class Agent:
    """An agent that has the state directory to itself."""

    def __init__(
        self,
        settings: AgentSettings,
        drivers: Sequence[Driver],
        plugins: dict[str, Plugin],
        turns: Turns,
        readiness: Readiness,
    ) -> None:
        self._settings = settings
        self._node = settings.node_name
        self._boot_id = read_boot_id(Path(settings.boot_id_file))
        self._drivers = drivers
        self._plugins = plugins
        self._turns = turns
        self._readiness = readiness
        self._ledger = open_ledger(Path(settings.state_dir), self._node, self._boot_id)
        self._feed = Feed(self._ledger, self._node)
        self._outbox = Outbox(self._ledger)
        self._stocks: dict[str, Stock] = {}
        self._recoveries: dict[str, Recovery] = {}
        self._log: EventLog | None = None

    async def live(self, servers: Sequence[PluginServers]) -> None:
        """Takes up what was left, then works until cancelled; ends in good order."""
        try:
            for driver in self._drivers:
                await self._take_up(driver)
            self._ledger.tell(
                AgentStarted(
                    node=self._node,
                    boot_id=self._boot_id,
                    agent_version=version("dra-node-agent"),
                    drivers=tuple(driver.name for driver in self._drivers),
                )
            )
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._look_for_ever())
                tasks.create_task(self._meet_log())
                tasks.create_task(self._sweep_for_ever())
                tasks.create_task(self._until_broken())
        finally:
            await _stop(servers)
            await self._turns.settle(FAREWELL)
            await self._say_farewell()
            self._ledger.close()

    async def _take_up(self, driver: Driver) -> None:
        settings = self._settings
        faults = FaultPoints(Path(settings.faults_file) if settings.faults_file else None)
        scanner = SimulatedDevices(driver, self._hardware(), faults)
        stock = Stock(driver.name, self._node, scanner, self._ledger)
        await self._look(driver.name, stock)
        cdi = CdiDirectory(Path(settings.cdi_root), driver, faults)
        cdi.start(self._node)
        site = Site(
            node=self._node,
            boot_id=self._boot_id,
            allocation_patience=settings.allocation_seconds,
            effect_patience=settings.effect_seconds,
        )
        tools = Tools(
            ledger=self._ledger,
            feed=self._feed,
            cdi=cdi,
            scanner=scanner,
            faults=faults,
            inventory=lambda: stock.inventory,
        )
        preparation = Preparation(driver, site, tools)
        recovery = Recovery(self._plugins[driver.name], preparation, self._ledger, cdi)
        await recovery.from_cdi(self._boot_id)
        self._stocks[driver.name] = stock
        self._recoveries[driver.name] = recovery
        self._plugins[driver.name].open(preparation, self._ledger)

    def _hardware(self) -> Hardware:
        settings = self._settings
        if settings.faults_file:
            _log.warning("faults can be switched on: for tests only", file=settings.faults_file)
        return Hardware(
            node=self._node,
            boot_id=self._boot_id,
            directory=Path(settings.state_dir) / "simulated",
            sizes=settings.sizes(),
            inventory_file=Path(settings.inventory_file) if settings.inventory_file else None,
        )

    async def _look_for_ever(self) -> None:
        while True:
            for name, stock in self._stocks.items():
                await self._look(name, stock)
                for phase, count in self._ledger.phases(name).items():
                    meters.CLAIMS.labels(name, phase).set(count)
            if self._ledger.knows_log:
                self._tell_devices()
            await asyncio.sleep(self._settings.scan_seconds)

    async def _look(self, driver: str, stock: Stock) -> None:
        await stock.look()
        note = self._readiness.missing if stock.too_large else self._readiness.there
        note(f"a report of {driver} that the log takes")

    async def _meet_log(self) -> None:
        """Connects to the log, however long that takes, and exchanges facts with it."""
        client = await self._connect()
        self._log = log = JetStreamLog(client)
        if not self._ledger.knows_log:
            await self._learn(await self._history(log))
        self._tell_devices()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._outbox.carry(log))
            tasks.create_task(self._feed.follow(log, self._sweep))
            tasks.create_task(liveness.beat(client, self._node))

    async def _connect(self) -> bus.Connection:
        while True:
            try:
                return await bus.connect(self._settings.nats_url, f"node-agent/{self._node}")
            except LogUnavailableError as error:
                _log.error("no connection to NATS, trying again", error=str(error))
                await asyncio.sleep(RETRY)

    async def _history(self, log: EventLog) -> History:
        while True:
            try:
                return await self._feed.history(log)
            except LogUnavailableError as error:
                _log.warning("no log yet, trying again", error=str(error))
                await asyncio.sleep(RETRY)

    async def _learn(self, history: History) -> None:
        """Takes up what earlier agents left in the log, for a ledger that never saw it."""
        for driver, known in history.reports.items():
            if self._ledger.report(driver) is None:
                self._ledger.write_report(driver, known)
        for name, recovery in self._recoveries.items():
            await recovery.from_log(history, self._stocks[name].inventory, self._boot_id)

    def _tell_devices(self) -> None:
        """Writes the facts that the log lacks; drivers that are served no more have no devices."""
        for stock in self._stocks.values():
            stock.tell()
        for name in self._ledger.reported():
            if name not in self._stocks:
                write_changes(self._ledger, self._node, name, Report())

    async def _sweep_for_ever(self) -> None:
        while True:
            self._sweep()
            await asyncio.sleep(SWEEP)

    def _sweep(self) -> None:
        for recovery in self._recoveries.values():
            recovery.sweep()

    async def _until_broken(self) -> None:
        await self._turns.broken

    async def _say_farewell(self) -> None:
        self._ledger.tell(
            AgentStopped(node=self._node, boot_id=self._boot_id, reason="told to stop")
        )
        if self._log is None:
            return
        try:
            async with asyncio.timeout(FAREWELL):
                while await self._outbox.send(self._log):
                    pass
                await self._log.close()
        except TimeoutError:
            _log.warning(
                "facts wait in the ledger for the next agent", facts=self._ledger.waiting()
            )
