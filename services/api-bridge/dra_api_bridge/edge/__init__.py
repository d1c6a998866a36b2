"""How the bridge reads and writes the Kubernetes API. No decisions."""
