"""A pocket Kubernetes in one process, for local work on dynamic resource allocation.

It is not Kubernetes: no etcd, no authentication, no quotas, no real containers. It serves the few
kinds that DRA needs, answers them as kube-apiserver 1.37 does, and keeps everything in memory. The
suite in ``tests/contract/kubernetes_api`` holds it to that, and the real server too.

``api`` is the API server, ``controllers`` what kube-controller-manager and kube-scheduler do for
claims and pods, ``kubelet`` a stand-in for the kubelet that only speaks public protocols and
therefore also runs against a real API server. Nothing of the product may depend on this package;
only the command line starts it.

Not there, among much else: server-side apply, paging (a list answers whole), bodies in YAML or
protobuf, schemas for ``kubectl explain``, exec and port-forward, evictions, deletion in the
foreground, managed fields, compiled CEL selectors, node heartbeats, priorities and preemption.
"""
