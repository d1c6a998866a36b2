"""A stand-in for the kubelet: real protocols on both sides, no containers in between.

It speaks the Kubernetes REST API to any API server, finds DRA drivers by their registration
sockets, has them prepare and unprepare claims over gRPC, and applies their CDI files to each
container's environment, which it serves as the container's log. It runs no command: a container
counts as running until its pod is deleted. Nothing here may import the API server's side of the
devcluster, so that what works here works against a real cluster.
"""
