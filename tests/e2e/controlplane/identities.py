"""Who may call the API server: one user per part, each with a token and a kubeconfig.

Rights are not given here: admin has them by its group, Kubernetes' own parts by the default
roles, the bridge by deploy/rbac, the tenant by what a test binds.
"""

import base64
import enum
import secrets
from collections.abc import Mapping
from pathlib import Path

# A P-256 private key in DER (SEC 1) is these bytes around 32 random ones; the public half may
# be left out. That spares tests a cryptography library for one signing key.
KEY_HEAD = bytes.fromhex("30310201010420")
KEY_TAIL = bytes.fromhex("a00a06082a8648ce3d030107")


class Identity(enum.StrEnum):
    """A user, by the name the API server knows it under."""

    ADMIN = "admin"
    SCHEDULER = "system:kube-scheduler"
    CONTROLLER_MANAGER = "system:kube-controller-manager"
    BRIDGE = "system:serviceaccount:dra-ledger:api-bridge"
    TENANT = "tenant"


GROUPS: Mapping[Identity, tuple[str, ...]] = {
    Identity.ADMIN: ("system:masters",),
    Identity.SCHEDULER: (),
    Identity.CONTROLLER_MANAGER: (),
    Identity.BRIDGE: ("system:serviceaccounts", "system:serviceaccounts:dra-ledger"),
    Identity.TENANT: (),
}


def new_tokens() -> dict[Identity, str]:
    """A fresh bearer token for each user."""
    return {identity: secrets.token_hex(16) for identity in Identity}


def token_file(tokens: Mapping[Identity, str]) -> str:
    """The text for `--token-auth-file`: token, user, uid, groups."""
    lines = (
        f'{token},{identity},{identity.name.lower()},"{",".join(GROUPS[identity])}"\n'
        for identity, token in tokens.items()
    )
    return "".join(lines)


def kubeconfig(identity: Identity, token: str, url: str, ca_file: Path) -> str:
    """A kubeconfig (YAML text) with which `identity` reaches the API server at `url`."""
    return f"""apiVersion: v1
kind: Config
current-context: test
contexts: [{{name: test, context: {{cluster: test, user: {identity.name.lower()}}}}}]
clusters: [{{name: test, cluster: {{server: "{url}", certificate-authority: "{ca_file}"}}}}]
users: [{{name: {identity.name.lower()}, user: {{token: "{token}"}}}}]
"""


def new_signing_key() -> str:
    """A fresh EC private key in PEM, with which service account tokens are signed."""
    der = KEY_HEAD + secrets.token_bytes(32) + KEY_TAIL
    body = base64.encodebytes(der).decode()
    return f"-----BEGIN EC PRIVATE KEY-----\n{body}-----END EC PRIVATE KEY-----\n"
