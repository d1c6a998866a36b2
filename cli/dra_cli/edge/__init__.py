"""Where the CLI touches the world: the log, a local API server over HTTP, the terminal."""
