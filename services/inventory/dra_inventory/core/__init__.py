"""Decides which pools there are. Pure: no clock, no chance, no I/O."""
