"""The log: one total order of events, appended to by fenced writers and read without gaps.

One promise (`protocol`), three keepers of it: memory, a file of JSON lines, and JetStream.
`tests/contract/test_event_log.py` holds all three to it. Nothing here knows what facts mean.
"""
