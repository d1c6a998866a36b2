"""Which objects are refused: one file of rules for each kind that DRA depends on.

A rule yields ``FieldError`` values; nothing here changes an object or reads the store.
"""
