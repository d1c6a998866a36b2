"""The command `dra`: looks at the log, explains it, checks it, and runs the system on a laptop.

It owns no facts and writes none: all it shows is folded from the log, by the same cores that the
services decide with. `local/` starts the services as processes; it knows how, not what they do.
"""
