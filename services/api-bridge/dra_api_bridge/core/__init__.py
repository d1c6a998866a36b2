"""What the bridge decides: which facts the API shows, which writes the log asks for. Pure."""
