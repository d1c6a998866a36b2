"""The kinds of devices that the simulated drivers offer, one module a kind."""
