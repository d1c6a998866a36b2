"""The bridge between Kubernetes and the log.

Owns the only access to the Kubernetes API. Writes the facts of `claim.*`, `pod.*`, `cluster.*`
and `mirror.*`: what Kubernetes asked for, what it is like, what it accepted. Reads `pool.*` and
`allocation.*` and makes them true: ResourceSlices, claims' status, pods ungated.
"""
