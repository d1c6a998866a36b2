"""A held port is nobody else's, whether its server runs or not."""

import socket
from contextlib import ExitStack

import pytest

from dra_cli.local.ports import LOCALHOST, PortTakenError, check_free, hold_ports


def test_a_held_port_is_given_to_nobody_else_until_it_is_let_go() -> None:
    with ExitStack() as held, socket.socket() as other:
        (port,) = hold_ports(1, held)
        with pytest.raises(OSError, match="in use"):
            other.bind((LOCALHOST, port))
        held.close()
        other.bind((LOCALHOST, port))


def test_a_server_may_come_and_go_on_a_held_port() -> None:
    with ExitStack() as held:
        (port,) = hold_ports(1, held)
        for _ in range(2):
            check_free(port)
            with socket.create_server((LOCALHOST, port)), pytest.raises(PortTakenError):
                check_free(port)


def test_held_ports_are_all_different() -> None:
    with ExitStack() as held:
        assert len(set(hold_ports(50, held))) == 50
