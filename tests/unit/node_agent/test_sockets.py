"""Socket names as the kubelet expects them, and never longer than a socket's address can be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dra_node_agent.core.sockets import MAX_PATH, SocketPathError, socket_paths

UID = "0a1b2c3d-0000-4000-8000-0123456789ab"


def test_plain_names() -> None:
    paths = socket_paths("gpu.example.com", "/reg", "/plugins")
    assert paths.registration == "/reg/gpu.example.com-reg.sock"
    assert paths.plugin == "/plugins/gpu.example.com/dra.sock"


def test_two_pods_of_a_rolling_update_never_share_a_name() -> None:
    paths = socket_paths("gpu.example.com", "/reg", "/plugins", UID)
    assert paths.registration == f"/reg/gpu.example.com-{UID}-reg.sock"
    assert paths.plugin == f"/plugins/gpu.example.com/dra-{UID}.sock"


@given(st.integers(1, 55), st.integers(1, 100))
def test_names_fit_or_the_setting_is_named(driver: int, directory: int) -> None:
    name, registrar = "d" * driver, "/" + "r" * directory
    shortest = len(f"{registrar}/-reg.sock") + min(len("dra-") + 22, driver + 1 + 11)
    if shortest > MAX_PATH:
        with pytest.raises(SocketPathError, match="KUBELET_REGISTRAR_DIRECTORY_PATH"):
            socket_paths(name, registrar, "/p", UID)
        return
    paths = socket_paths(name, registrar, "/p", UID)
    assert max(len(paths.registration), len(paths.plugin)) <= MAX_PATH
    assert paths.registration.endswith("-reg.sock")


def test_a_directory_that_is_too_deep_is_named_with_its_setting() -> None:
    with pytest.raises(SocketPathError, match="KUBELET_PLUGINS_DIRECTORY_PATH"):
        socket_paths("gpu.example.com", "/reg", "/p" * 60)
