"""The node agent: the devices of one node, and the kubelet's plugin for them.

Owns the facts under `dra.node.<node>`: what devices there are and how they are, what was
prepared and undone. Reads `dra.allocation.<node>`: which claim was given what. Talks to the
kubelet over unix sockets, to the CDI directory and to devices; never to the Kubernetes API.
Prepares and undoes what it knows without NATS; facts wait in its ledger until NATS is back.
"""
