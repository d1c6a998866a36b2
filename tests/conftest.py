"""Servers and clocks that many tests need."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from servers import NatsServer

settings.register_profile("dev", max_examples=25, deadline=None)
settings.register_profile("ci", max_examples=200, deadline=None, derandomize=True)
settings.load_profile("dev")


@pytest.fixture
def nats_server(tmp_path: Path) -> Iterator[NatsServer]:
    """A real NATS server with JetStream, of this test alone."""
    with NatsServer(tmp_path / "nats") as server:
        yield server
