"""What the agent decides: plans, life cycles, spec files, reports. Pure; no I/O, clock or logging."""
