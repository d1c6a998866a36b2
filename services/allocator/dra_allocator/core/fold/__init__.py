"""How facts add up: what they say now, by key, and the same packed into a snapshot."""
