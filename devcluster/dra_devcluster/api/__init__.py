"""The API server: a store, the rules an object must pass on its way in, and HTTP around both.

``cluster.Cluster`` is the whole server without HTTP; the controllers talk to it directly and get
the same answers, conflicts included, that a client outside would get.
"""
