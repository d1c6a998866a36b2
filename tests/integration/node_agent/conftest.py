"""One node with an agent as a process, for each test."""

from collections.abc import AsyncIterator

import pytest
from node import Node
from servers import NatsServer


@pytest.fixture
async def node(nats_server: NatsServer) -> AsyncIterator[Node]:
    async with Node(nats_server.url, ALLOCATION_SECONDS="1") as made:
        yield made
