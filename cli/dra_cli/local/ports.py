"""Free TCP ports of this machine."""

import socket
from contextlib import ExitStack
from typing import Final

LOCALHOST: Final = "127.0.0.1"


class PortTakenError(Exception):
    """Somebody listens on the port that was asked for; the caller must choose another."""

    def __init__(self, port: int) -> None:
        super().__init__(f"port {port} is taken: stop what listens there, or choose another one")


def port_or_any(wanted: int, other: int) -> int:
    """The wanted port, or the other one if any will do (0); raises PortTakenError."""
    with socket.socket() as probe:
        if wanted and probe.connect_ex((LOCALHOST, wanted)) == 0:
            raise PortTakenError(wanted)
    return wanted or other


def free_ports(count: int) -> tuple[int, ...]:
    """Ports that nobody listens on now, all different."""
    with ExitStack() as held:
        ports: list[int] = []
        for _ in range(count):
            probe = held.enter_context(socket.socket())
            probe.bind((LOCALHOST, 0))
            ports.append(probe.getsockname()[1])
        return tuple(ports)
