"""Events on pods: what ``kubectl describe`` tells about what a controller did or could not do."""

from dra_devcluster.api.cluster import Cluster
from dra_devcluster.api.errors import ApiError
from dra_devcluster.api.resources import EVENTS, Object


def tell(cluster: Cluster, component: str, pod: Object, reason: str, message: str) -> None:
    """Record an event on the pod; reasons that begin with Failed are warnings.

    An event that a namespace on its way out refuses is not missed by anybody.
    """
    metadata, now = pod["metadata"], cluster.now()
    subject = {name: metadata[name] for name in ("namespace", "name", "uid", "resourceVersion")}
    event = {
        "metadata": {"generateName": f"{metadata['name']}."},
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", **subject},
        "type": "Warning" if reason.startswith("Failed") else "Normal",
        "reason": reason,
        "message": message,
        "source": {"component": component},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
    try:
        cluster.create(EVENTS, metadata["namespace"], event)
    except ApiError:
        return
