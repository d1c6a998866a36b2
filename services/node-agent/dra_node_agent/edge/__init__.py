"""What the agent does: sockets, files, SQLite, NATS. Decisions stand in `core`."""
