"""Servers and clocks that many tests need."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from servers import NatsServer

settings.register_profile("dev", max_examples=25, deadline=None)
settings.register_profile("ci", parent=settings.get_profile("dev"), derandomize=True)
settings.load_profile("ci" if "CI" in os.environ else "dev")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """What `-n auto` means: half as many again as cores, as tests wait a third of their time."""
    cores = os.cpu_count() or 1
    return cores + (cores + 1) // 2


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What may take longest comes first: no worker is left with it when the others have ended."""
    items.sort(key=_patience, reverse=True)


def _patience(item: pytest.Item) -> float:
    mark = item.get_closest_marker("timeout")
    return float(mark.args[0]) if mark else 0.0


@pytest.fixture
def nats_server(tmp_path: Path) -> Iterator[NatsServer]:
    """A real NATS server with JetStream, of this test alone."""
    with NatsServer(tmp_path / "nats") as server:
        yield server
