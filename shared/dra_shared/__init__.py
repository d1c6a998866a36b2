"""What more than one part needs: facts, ids, quantities, Kubernetes shapes, the event log. Knows no service."""
