"""CEL as Kubernetes speaks it. Knows nothing of this project."""
