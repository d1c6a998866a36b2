"""The search for the devices that the claims of one pod get on one node.

Pure and complete: the semantics of Kubernetes 1.37's structured allocator (KEP-4381 and the KEPs
named beside each feature). It reads slices, classes, claims and what is in use, and changes none
of them. Choosing the node, keeping state from facts and wording the answer stay outside.

Start at `search.search`. `candidates.candidates` is its building block for an index that is kept.
"""
