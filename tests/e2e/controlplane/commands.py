"""The command line of each server: what it takes to run it on loopback, without any node.

Pure: text from options, paths and ports. plane.py starts what is written here.
"""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from e2e.controlplane.identities import Identity
from e2e.controlplane.programs import Part

LOOPBACK = "127.0.0.1"


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What a control plane is to be like.

    `parts` run from the start, others when `ControlPlane.start` is called. `feature_gates` go to
    all Kubernetes servers. `runtime_config` are API versions, such as
    `{"resource.k8s.io/v1beta2": True}`. `kube_api_qps` is how many requests a second the
    controllers and the scheduler may each send; with Kubernetes' own defaults (20 and 50) it
    takes nine seconds until all controllers work, instead of four.
    `flags` are appended to a server's command line.
    """

    parts: frozenset[Part] = frozenset(Part)
    feature_gates: Mapping[str, bool] = {}
    runtime_config: Mapping[str, bool] = {}
    kube_api_qps: int = 1000
    flags: Mapping[Part, tuple[str, ...]] = {}


class Site(msgspec.Struct, frozen=True):
    """Where one control plane lives: its folder and the port of each server."""

    folder: Path
    ports: Mapping[Part, int]

    @property
    def url(self) -> str:
        """The API server's address."""
        return f"https://{LOOPBACK}:{self.ports[Part.API_SERVER]}"

    @property
    def certificates(self) -> Path:
        """Where the servers put the certificates they make for themselves."""
        return self.folder / "certificates"

    @property
    def ca_file(self) -> Path:
        """The certificate to trust; the API server writes it when it starts."""
        return self.certificates / "apiserver.crt"

    @property
    def token_file(self) -> Path:
        """Users and tokens, read by the API server."""
        return self.folder / "tokens.csv"

    @property
    def signing_key(self) -> Path:
        """The key that signs service account tokens."""
        return self.folder / "service-accounts.key"

    def kubeconfig(self, identity: Identity) -> Path:
        """The kubeconfig file of a user."""
        return self.folder / f"{identity.name.lower().replace('_', '-')}.kubeconfig"


def arguments(part: Part, site: Site, options: Options) -> list[str]:
    """The arguments with which `part` runs at `site`."""
    build = {
        Part.ETCD: etcd_arguments,
        Part.API_SERVER: api_server_arguments,
        Part.CONTROLLER_MANAGER: controller_manager_arguments,
        Part.SCHEDULER: scheduler_arguments,
    }[part]
    return [*build(site, options), *options.flags.get(part, ())]


def etcd_arguments(site: Site, _: Options) -> list[str]:
    """One member, no fsync (the data need not outlive the test)."""
    client = f"http://{LOOPBACK}:{site.ports[Part.ETCD]}"
    peer = f"http://{LOOPBACK}:0"  # nobody calls a single member: any free port does
    return [
        f"--data-dir={site.folder / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def api_server_arguments(site: Site, options: Options) -> list[str]:
    """Admission without ServiceAccount (pods at once) and without the taint on new nodes."""
    return [
        f"--etcd-servers=http://{LOOPBACK}:{site.ports[Part.ETCD]}",
        f"--secure-port={site.ports[Part.API_SERVER]}",
        f"--bind-address={LOOPBACK}",
        f"--advertise-address={LOOPBACK}",
        "--endpoint-reconciler-type=none",  # it refuses loopback, and nobody needs the service
        f"--cert-dir={site.certificates}",
        f"--service-account-key-file={site.signing_key}",
        f"--service-account-signing-key-file={site.signing_key}",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--service-cluster-ip-range=10.0.0.0/24",
        f"--token-auth-file={site.token_file}",
        "--authorization-mode=Node,RBAC",
        "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
        *gates(options),
        *settings("--runtime-config", options.runtime_config),
    ]


def controller_manager_arguments(site: Site, options: Options) -> list[str]:
    """All controllers but the one that would declare our kubelet-less nodes dead."""
    return [
        *client_arguments(Part.CONTROLLER_MANAGER, Identity.CONTROLLER_MANAGER, site, options),
        "--controllers=*,-node-lifecycle-controller",
        # Without it the claim controller lacks the right to create claims, and is silent on it.
        "--use-service-account-credentials=true",
        f"--service-account-private-key-file={site.signing_key}",
        f"--root-ca-file={site.ca_file}",
    ]


def scheduler_arguments(site: Site, options: Options) -> list[str]:
    """The default profile."""
    return client_arguments(Part.SCHEDULER, Identity.SCHEDULER, site, options)


def client_arguments(part: Part, identity: Identity, site: Site, options: Options) -> list[str]:
    """What the two clients of the API server share."""
    kubeconfig = site.kubeconfig(identity)
    return [
        f"--kubeconfig={kubeconfig}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        f"--bind-address={LOOPBACK}",
        f"--secure-port={site.ports[part]}",
        "--leader-elect=false",
        f"--kube-api-qps={options.kube_api_qps}",
        f"--kube-api-burst={options.kube_api_qps}",
        *gates(options),
    ]


def gates(options: Options) -> list[str]:
    """The feature gates as a flag, or nothing."""
    return settings("--feature-gates", options.feature_gates)


def settings(flag: str, values: Mapping[str, bool]) -> list[str]:
    """`--flag=name=true,...`, or nothing where there are no values."""
    text = ",".join(f"{name}={str(value).lower()}" for name, value in values.items())
    return [f"{flag}={text}"] if text else []
