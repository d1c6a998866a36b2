"""The inventory: turns what node agents report into pools that can be allocated from.

Owns (the only writer of) `dra.pool.>`: pools with generation, slices and taints, and nodes lost
and returned. Reads `dra.node.>` and the agents' signs of life. Talks to NATS only.
"""
