"""Each service says over HTTP whether it lives, whether it can work, and what it counts."""

import http.client
import socket

import pytest

from dra_shared.runtime.endpoint import Readiness, endpoint
from dra_shared.runtime.settings import Settings, SettingsError

ANY_PORT = Settings(http_host="127.0.0.1", http_port=0)


def get(port: int, path: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    connection.request("GET", path)
    response = connection.getresponse()
    answer = response.status, response.read().decode()
    connection.close()
    return answer


def test_a_service_is_ready_once_nothing_is_missing() -> None:
    readiness = Readiness("start", "kubelet")
    with endpoint(ANY_PORT, readiness) as port:
        assert get(port, "/healthz") == (200, "ok\n")
        assert get(port, "/readyz") == (503, "missing: start, kubelet\n")
        readiness.there("start")
        readiness.there("kubelet")
        assert get(port, "/readyz") == (200, "ok\n")
        readiness.missing("kubelet")
        assert get(port, "/readyz")[0] == 503


def test_metrics_are_served_and_other_paths_are_not() -> None:
    with endpoint(ANY_PORT, Readiness()) as port:
        status, text = get(port, "/metrics")
        assert status == 200
        assert "dra_nats_errors_total" in text or "python_info" in text
        assert get(port, "/")[0] == 404


def test_a_taken_port_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        settings = Settings(http_host="127.0.0.1", http_port=port)
        with (
            pytest.raises(SettingsError, match=f"HTTP_PORT={port}"),
            endpoint(settings, Readiness()),
        ):
            pass


def test_no_port_is_served_when_none_is_wanted() -> None:
    with endpoint(Settings(http_port=-1), Readiness()) as port:
        assert port == -1
