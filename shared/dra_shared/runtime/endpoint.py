"""The HTTP endpoint of a service: /healthz, /readyz and /metrics. Nothing else is served."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from dra_shared.runtime.settings import Settings, SettingsError

PATIENCE: Final = 10.0
"""Seconds that a connection may say nothing: each holds a thread."""


class Readiness:
    """Why the service cannot work yet; nothing missing means ready."""

    def __init__(self, *missing: str) -> None:
        self._missing = dict.fromkeys(missing)

    def missing(self, what: str) -> None:
        """Notes something without which the service cannot work."""
        self._missing = {**self._missing, what: None}

    def there(self, what: str) -> None:
        """Notes that it is there now."""
        self._missing = {key: None for key in self._missing if key != what}

    @property
    def lacks(self) -> tuple[str, ...]:
        """What is missing, in the order in which it was noticed."""
        return tuple(self._missing)


@contextmanager
def endpoint(settings: Settings, readiness: Readiness) -> Iterator[int]:
    """Serves until left; yields the port, -1 if none was wanted. Raises SettingsError if taken."""
    if settings.http_port < 0:
        yield -1
        return
    try:
        server = ThreadingHTTPServer((settings.http_host, settings.http_port), _request(readiness))
    except OSError as error:
        message = f"HTTP_PORT={settings.http_port} on {settings.http_host}: {error.strerror}"
        raise SettingsError(message) from error
    thread = threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _request(readiness: Readiness) -> type[BaseHTTPRequestHandler]:
    class Request(BaseHTTPRequestHandler):
        """One request."""

        timeout = PATIENCE

        def do_GET(self) -> None:
            """Answers the three paths; all others are 404."""
            status, kind, body = _answer(self.path, readiness)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Probes are no news."""

    return Request


def _answer(path: str, readiness: Readiness) -> tuple[int, str, bytes]:
    text = "text/plain; charset=utf-8"
    match path.partition("?")[0]:
        case "/healthz":
            return 200, text, b"ok\n"
        case "/readyz":
            lacks = readiness.lacks
            return (
                (503, text, f"missing: {', '.join(lacks)}\n".encode())
                if lacks
                else (200, text, b"ok\n")
            )
        case "/metrics":
            return 200, CONTENT_TYPE_LATEST, generate_latest()
        case _:
            return 404, text, b"only /healthz, /readyz and /metrics are served here\n"
