"""A shortcut through nats-py's parser, for subscriptions that see very many messages.

nats-py builds a task, a queue and an object per message; a reader that replays a log needs
none of them (137,000 messages/s with a callback, 490,000 with this, `benchmarks/`). The hook is
a private attribute of nats-py, so its version is pinned and a contract test watches it; without
the hook, the subscription's own callback brings the same messages, only slower.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.protocol.parser import Parser

Message = tuple[bytes, bytes, bytes, bytes]
"""Subject, reply, header block and payload; empty is what there is none of."""

Arrival = Callable[[Sequence[Message]], None]
"""Called with messages that came together; must not wait."""

_MESSAGE: Final = re.compile(
    rb"HMSG ([^ ]+) (\d+) (?:([^ ]+) )?(\d+) (\d+)\r\n|MSG ([^ ]+) (\d+) (?:(\S+) )?()(\d+)\r\n"
)
_WITH_HEADER: Final = (1, 2, 3, 4, 5)
_WITHOUT: Final = (6, 7, 8, 9, 10)
"""Subject, subscription, reply, bytes of the header, bytes of it and the payload."""


class DirectParser(Parser):
    """nats-py's parser, with a straight way for messages of registered subscriptions."""

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self.arrivals: dict[bytes, Arrival] = {}

    def reset(self) -> None:
        """Forgets what was begun: the connection is a new one."""
        super().reset()
        self._enough = 0

    async def parse(self, data: bytes = b"") -> None:
        """Parses what came from the socket; everything unknown goes the stock way, whole."""
        if len(self.buf) + len(data) < self._enough:
            self.buf += data
            return
        buffer = bytes(self.buf) + data if self.buf else bytes(data)
        position = 0
        while position < len(buffer):
            start, position = position, self._direct(buffer, position)
            if position > start:
                continue
            end = _end_of_operation(buffer, position)
            if end > len(buffer):
                break
            self.buf = bytearray()
            await super().parse(buffer[position:end])
            position = end
        self.buf = bytearray(buffer[position:])
        self._enough = _end_of_operation(self.buf, 0)

    def _direct(self, buffer: bytes, position: int) -> int:
        """Delivers registered messages from here on; returns where the next other thing stands."""
        match, arrivals, length = _MESSAGE.match, self.arrivals, len(buffer)
        came: list[Message] = []
        whose = b""
        while found := match(buffer, position):
            groups = _WITHOUT if found.lastindex == _WITHOUT[-1] else _WITH_HEADER
            subject, sid, reply, header, size = found.group(*groups)
            body = found.end()
            end = body + int(size)
            if end + 2 > length or sid not in arrivals:
                break
            if sid != whose:
                self._deliver(whose, came)
                came, whose = [], sid
            data = body + int(header) if header else body
            came.append((subject, reply or b"", buffer[body:data], buffer[data:end]))
            position = end + 2
        self._deliver(whose, came)
        return position

    def _deliver(self, sid: bytes, came: list[Message]) -> None:
        if came:
            self.arrivals[sid](came)


def _end_of_operation(buffer: bytes | bytearray, position: int) -> int:
    """Where the operation that starts here ends; behind the buffer while it is not all there."""
    found = _MESSAGE.match(buffer, position)
    if found is None:
        line = buffer.find(b"\r\n", position)
        return line + 2 if line >= 0 else len(buffer) + 1
    return found.end() + int(found[5] or found[10]) + 2


def install(client: Client) -> bool:
    """Puts the shortcut into a client that was just connected; False if nats-py has changed."""
    if type(getattr(client, "_ps", None)) is not Parser:
        return False
    client._ps = DirectParser(client)  # noqa: SLF001 - see module
    return True


async def subscribe(client: Client, subject: str, arrive: Arrival) -> Subscription:
    """A subscription whose messages go straight to `arrive`."""

    async def slow_way(message: Msg) -> None:
        status = (message.headers or {}).get("Status")
        block = f"NATS/1.0 {status}".encode() if status else b""
        arrive([(message.subject.encode(), message.reply.encode(), block, message.data)])

    subscription: Subscription = await client.subscribe(subject, cb=slow_way)
    parser = _parser(client)
    if parser is not None:
        parser.arrivals[str(subscription._id).encode()] = arrive  # noqa: SLF001 - see module
    return subscription


async def unsubscribe(client: Client, subscription: Subscription) -> None:
    """Ends a subscription made by `subscribe`; harmless on a closed connection."""
    parser = _parser(client)
    if parser is not None:
        parser.arrivals.pop(str(subscription._id).encode(), None)  # noqa: SLF001 - see module
    if not client.is_closed:
        await subscription.unsubscribe()


def _parser(client: Client) -> DirectParser | None:
    current: Any = getattr(client, "_ps", None)
    return current if isinstance(current, DirectParser) else None
