"""A real Kubernetes control plane for tests: etcd, API server, controllers and scheduler.

Why: the bridge lives from what the API server, the claim controller and kube-scheduler really
do, and no imitation can vouch for that. There are no kubelets here: nodes are only objects.

    async with ControlPlane() as plane:
        await plane.install(Path("deploy/rbac"), Path("deploy/policies"))
        await plane.add_node("node-1")
        claims = await plane.api("GET", "/apis/resource.k8s.io/v1/resourceclaims")

`python -m e2e.controlplane.build` makes the programs once; `python -m e2e.controlplane up`
keeps one running. Nothing of this project's services may be imported here.
"""

from e2e.controlplane.commands import Options
from e2e.controlplane.eventually import DeadlineError, eventually
from e2e.controlplane.identities import Identity
from e2e.controlplane.plane import ControlPlane
from e2e.controlplane.programs import Part
from e2e.controlplane.rest import ApiError

__all__ = [
    "ApiError",
    "ControlPlane",
    "DeadlineError",
    "Identity",
    "Options",
    "Part",
    "eventually",
]
