"""The allocator: the only writer of `dra.allocation.>`, who gets which device, and why not.

Reads pools, claims, pods, the cluster and what the API server answered; never a node's own facts.
Talks to NATS only. `core.engine` is the allocator without its surroundings, `service` joins it to
the log, `core.verify` derives all its decisions again from any log.
"""
