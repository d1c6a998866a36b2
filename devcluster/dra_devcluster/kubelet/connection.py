"""Where the API server is and how to prove who asks: read from a kubeconfig, or given.

Tokens and certificates only; no exec plugins, no password, no proxy. What is not understood is
refused, so that nobody is anonymous, or goes another way, without knowing.
"""

import base64
import ssl
import tempfile
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

CLUSTER_FIELDS: Final = frozenset(
    {"server", "certificate-authority", "certificate-authority-data", "insecure-skip-tls-verify"}
)
USER_FIELDS: Final = frozenset(
    {"token", "client-certificate", "client-certificate-data", "client-key", "client-key-data"}
)
IGNORED: Final = frozenset({"extensions"})


class KubeconfigError(Exception):
    """The kubeconfig cannot be used. The operator must act."""


class Connection(msgspec.Struct, frozen=True):
    """An API server and the credentials for it."""

    url: str
    token: str = ""
    tls: ssl.SSLContext | None = None

    @property
    def headers(self) -> dict[str, str]:
        """What every request carries."""
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}


def from_kubeconfig(path: Path) -> Connection:
    """The connection of the current context. Raises ``KubeconfigError``."""
    try:
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
        context = _named(config["contexts"], config["current-context"])["context"]
        cluster = _named(config["clusters"], context["cluster"])["cluster"]
        user = _named(config["users"], context["user"]).get("user") or {}
        url = str(cluster["server"])
    except (OSError, KeyError, TypeError, StopIteration, yaml.YAMLError) as wrong:
        problem = f"kubeconfig {path} has no usable current context: {wrong!r}"
        raise KubeconfigError(problem) from wrong
    unknown = (cluster.keys() - CLUSTER_FIELDS) | (user.keys() - USER_FIELDS)
    if unknown := unknown - IGNORED:
        problem = f"kubeconfig {path} has {', '.join(sorted(unknown))}, which is not supported here"
        raise KubeconfigError(problem)
    tls = _tls(cluster, user) if url.startswith("https:") else None
    return Connection(url, user.get("token", ""), tls)


def _named(entries: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(entry for entry in entries if entry["name"] == name)


def _tls(cluster: dict[str, Any], user: dict[str, Any]) -> ssl.SSLContext:
    authority = _text(cluster, "certificate-authority")
    context = ssl.create_default_context(cadata=authority)
    if cluster.get("insecure-skip-tls-verify"):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    certificate, key = _text(user, "client-certificate"), _text(user, "client-key")
    if certificate and key:
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as together:
            together.write(f"{certificate}\n{key}\n")
            together.flush()
            context.load_cert_chain(together.name)
    return context


def _text(entry: dict[str, Any], field: str) -> str | None:
    """PEM text that stands in the kubeconfig, or in a file that it names."""
    if embedded := entry.get(f"{field}-data"):
        return base64.b64decode(embedded).decode()
    if named := entry.get(field):
        return Path(named).read_text(encoding="utf-8")
    return None
