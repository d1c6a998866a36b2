"""The shortcut through nats-py's parser gives what was sent, in whatever pieces it comes."""

from hypothesis import given
from hypothesis import strategies as st

from dra_shared.log.jetstream_parser import DirectParser, Message

Sent = tuple[bytes, bytes, bytes | None, bytes]
"""Subject, reply, header block and payload."""

WORDS = st.sampled_from([b"a", b"dra.pod.x", b"_INBOX.1"])
REPLIES = st.sampled_from([b"", b"a", b"$JS.ACK.S.c.1.7.1.99.0"])
HEADERS = st.sampled_from([None, b"NATS/1.0\r\n\r\n", b"NATS/1.0\r\na: b\r\n\r\n"])
PAYLOADS = st.one_of(
    st.binary(max_size=5), st.sampled_from([b"\r\n", b"MSG a 1 2\r\n", b"x" * 300])
)
MESSAGES = st.tuples(WORDS, REPLIES, HEADERS, PAYLOADS)
SENT = st.lists(st.tuples(st.sampled_from([1, 2]), MESSAGES))
CUTS = st.lists(st.integers(1, 400))


class Client:
    """As much of nats-py's client as its parser calls: for messages nobody registered for."""

    def __init__(self) -> None:
        self.got: list[Sent] = []
        self.pings = 0

    async def _process_msg(
        self, _: int, subject: bytes, reply: bytes, data: bytes, header: bytes | None
    ) -> None:
        self.got.append((subject, reply, header, data))

    async def _process_ping(self) -> None:
        self.pings += 1


def on_the_wire(sid: int, message: Sent) -> bytes:
    """As the server writes it."""
    subject, reply, header, payload = message
    to = b"%s %d %s" % (subject, sid, reply + b" " if reply else b"")
    if header is None:
        return b"MSG %s%d\r\n%s\r\n" % (to, len(payload), payload)
    sizes = (len(header), len(header) + len(payload))
    return b"HMSG %s%d %d\r\n%s%s\r\n" % (to, *sizes, header, payload)


@given(SENT, CUTS)
async def test_all_messages_come_whole_in_whatever_pieces(
    sent: list[tuple[int, Sent]], cuts: list[int]
) -> None:
    client = Client()
    registered: list[Message] = []
    parser = DirectParser(client)  # type: ignore[arg-type] # see Client
    parser.arrivals[b"1"] = registered.extend
    wire = b"".join(b"PING\r\n" + on_the_wire(sid, message) for sid, message in sent)
    for cut in cuts:
        await parser.parse(wire[:cut])
        wire = wire[cut:]
    await parser.parse(wire)
    assert registered == [(s, r, h or b"", p) for sid, (s, r, h, p) in sent if sid == 1]
    assert client.got == [message for sid, message in sent if sid != 1]
    assert client.pings == len(sent)
    assert parser.buf == b""


async def test_what_was_begun_on_a_lost_connection_is_forgotten() -> None:
    client = Client()
    parser = DirectParser(client)  # type: ignore[arg-type] # see Client
    await parser.parse(b"MSG a 2 500\r\nxxx")
    parser.reset()
    await parser.parse(b"MSG a 2 1\r\ny\r\n")
    assert client.got == [(b"a", b"", None, b"y")]
