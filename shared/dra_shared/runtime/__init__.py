"""What every service's process needs: settings, logging, endpoints, a connection, a shutdown.

Nothing here knows a fact or a service. Cores never import it.
"""
