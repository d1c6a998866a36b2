"""
The values of expressions, one module a kind.

null, bool, int, double, string and bytes are Python's own; lists are tuples, maps are
dicts whose keys went through ``values.maps``. Classes are compared by identity, never by
``isinstance``: in Python True is an int, in CEL it is not.
"""
