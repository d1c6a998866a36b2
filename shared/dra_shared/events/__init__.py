"""The facts: everything that can stand in the log, one module per writer of them.

Names on the wire are data: each fact has an explicit versioned tag, which never changes its
meaning. A new meaning is a new tag, and `upcast` reads the old one. Facts are in the past
tense and carry what their reducer needs, so that no reducer ever looks elsewhere.
"""
