"""Free TCP ports of this machine."""

import socket
from contextlib import ExitStack


def free_ports(count: int) -> tuple[int, ...]:
    """Ports that nobody listens on now, all different."""
    with ExitStack() as held:
        ports: list[int] = []
        for _ in range(count):
            probe = held.enter_context(socket.socket())
            probe.bind(("127.0.0.1", 0))
            ports.append(probe.getsockname()[1])
        return tuple(ports)
