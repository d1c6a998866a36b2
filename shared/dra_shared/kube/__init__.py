"""Kubernetes objects as far as dra-ledger reads or writes them: frozen msgspec structs, no behaviour.

Field names are Python's; on the wire they are Kubernetes' (camelCase). Unknown fields are ignored,
null lists read as empty ones. No client, no I/O, no defaults that Kubernetes itself does not have.
"""
