"""Decides. Pure: no I/O, no clock, no random, no logging."""
