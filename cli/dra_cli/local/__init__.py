"""The whole system as processes of this machine: for `dra demo`, `dra up` and tests.

Starts, watches, restarts and stops programs. What the programs do is none of its business, and no
fact is read or written here.
"""
