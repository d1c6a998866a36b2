"""What `dra demo` does with a local system: applies the examples, looks, and compares."""
