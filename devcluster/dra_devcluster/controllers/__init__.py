"""What kube-controller-manager and kube-scheduler do for claims and pods, reduced to DRA.

Each controller sees only what a client would see: lists, watches and conflicts. None may reach
into the store.
"""
