"""Where the kubelet looks for a plugin, and where the plugin serves. Names only, no sockets."""

import base64
import hashlib
from typing import Final

import msgspec

MAX_PATH: Final = 107
"""Bytes that fit into the address of a unix socket, without the final zero."""


class SocketPathError(Exception):
    """A directory is too deep for a unix socket; the operator must choose a shorter one."""

    def __init__(self, path: str, variable: str) -> None:
        super().__init__(
            f"{variable}: the socket {path} would be {len(path.encode())} bytes long, "
            f"unix sockets end at {MAX_PATH}; choose a shorter directory"
        )


class SocketPaths(msgspec.Struct, frozen=True, kw_only=True):
    """The two sockets of one driver."""

    registration: str
    plugin: str


def socket_paths(driver: str, registrar: str, plugins: str, pod_uid: str = "") -> SocketPaths:
    """The sockets' paths; with a pod's uid, names that two agents of a rolling update can share.

    The registration name is the first that fits. Raises SocketPathError when none does.
    """
    name = f"dra-{pod_uid}.sock" if pod_uid else "dra.sock"
    plugin = f"{plugins}/{driver}/{name}"
    if not _fits(plugin):
        raise SocketPathError(plugin, "KUBELET_PLUGINS_DIRECTORY_PATH")
    candidates = [f"{registrar}/{name}" for name in _registration_names(driver, pod_uid)]
    fitting = [path for path in candidates if _fits(path)]
    if not fitting:
        raise SocketPathError(candidates[-1], "KUBELET_REGISTRAR_DIRECTORY_PATH")
    return SocketPaths(registration=fitting[0], plugin=plugin)


def _registration_names(driver: str, pod_uid: str) -> tuple[str, ...]:
    if not pod_uid:
        return (f"{driver}-reg.sock",)
    both = f"{driver}\0{pod_uid}"
    return (
        f"{driver}-{pod_uid}-reg.sock",
        f"{driver}-{_hashed(pod_uid, 8)}-reg.sock",
        f"dra-{_hashed(both, 16)}-reg.sock",
    )


def _hashed(text: str, size: int) -> str:
    digest = hashlib.sha256(text.encode()).digest()[:size]
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def _fits(path: str) -> bool:
    return len(path.encode()) <= MAX_PATH
