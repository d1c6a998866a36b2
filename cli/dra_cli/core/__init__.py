"""What the commands show, worked out from records. Pure: no I/O, no clock, no terminal."""
