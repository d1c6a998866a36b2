"""
Turns a checked tree into closures that work out its value and its exact run-time cost.

A closure takes a ``Frame`` and gives a value or a ``Failure``: errors are values here, as
in cel-go, because operators go on to evaluate (and charge for) what stands beside them.
"""
