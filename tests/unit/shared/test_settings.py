"""Settings come from the environment, checked, and every complaint names the variable."""

import pytest

from dra_shared.runtime.logs import configure
from dra_shared.runtime.settings import Settings, SettingsError, describe, load


class Needy(Settings, frozen=True, kw_only=True):
    """A service that must be told something."""

    node_name: str
    devices: int = 8


def test_variables_are_read_by_their_name_in_capitals() -> None:
    found = load(Needy, {"NODE_NAME": "n1", "DEVICES": "3", "UNRELATED": "x"})
    assert (found.node_name, found.devices, found.http_port) == ("n1", 3, 8080)


def test_a_missing_variable_is_named() -> None:
    with pytest.raises(SettingsError, match="NODE_NAME is not set"):
        load(Needy, {})


@pytest.mark.parametrize(
    ("variable", "value"), [("DEVICES", "many"), ("HTTP_PORT", "70000"), ("LOG_REPLICAS", "0")]
)
def test_a_wrong_value_is_named_with_its_variable(variable: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"{variable}='{value}'"):
        load(Needy, {"NODE_NAME": "n1", variable: value})


def test_an_unknown_log_level_is_refused() -> None:
    with pytest.raises(SettingsError, match="LOG_LEVEL='loud'"):
        configure(Settings(log_level="loud"), "test")


def test_an_unknown_log_format_is_refused() -> None:
    with pytest.raises(SettingsError, match="LOG_FORMAT='xml'"):
        configure(Settings(log_format="xml"), "test")


def test_help_tells_of_every_variable_and_its_default() -> None:
    told = describe(Needy)
    assert "NODE_NAME" in told
    assert "(required)" in told
    assert "HTTP_PORT" in told
    assert "[8080]" in told
