"""Free TCP ports of this machine."""

import socket
import sys
from contextlib import ExitStack
from typing import Final

LOCALHOST: Final = "127.0.0.1"


class PortTakenError(Exception):
    """Somebody listens on the port that was asked for; the caller must choose another."""

    def __init__(self, port: int) -> None:
        super().__init__(f"port {port} is taken: stop what listens there, or choose another one")


def check_free(port: int) -> None:
    """Raises PortTakenError if somebody listens there."""
    with socket.socket() as probe:
        if probe.connect_ex((LOCALHOST, port)) == 0:
            raise PortTakenError(port)


def free_ports(count: int) -> tuple[int, ...]:
    """Ports that nobody listens on now, all different."""
    with ExitStack() as held:
        return hold_ports(count, held)


def hold_ports(count: int, held: ExitStack) -> tuple[int, ...]:
    """Ports for servers of ours, which nobody else is given before the stack ends.

    Each is bound by a socket that never listens. Linux lets a server listen beside it, as both set
    SO_REUSEADDR, and gives the port to nobody who wants any: not while the server is away either.
    """
    probes = [_bound() for _ in range(count)]
    ports = tuple(probe.getsockname()[1] for probe in probes)
    for probe in probes:
        if sys.platform == "linux":
            held.callback(probe.close)
        else:  # where no server could listen beside it
            probe.close()
    return ports


def _bound() -> socket.socket:
    probe = socket.socket()
    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    probe.bind((LOCALHOST, 0))
    return probe
