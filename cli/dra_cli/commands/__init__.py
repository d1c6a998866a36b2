"""One module per subcommand, each with its `command`; imported only when it is called."""
