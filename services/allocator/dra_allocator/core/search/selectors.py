"""CEL over devices: what a selector says of one, what a derived attribute is.

Programs are compiled once. Errors are values that count only when a search reaches such a device,
so everything here raises SelectorError and decides nothing.
"""

from typing import Final

import kube_cel
from dra_allocator.core.search.attributes import Value, Values
from dra_allocator.core.search.devices import PoolDevice


class SelectorError(Exception):
    """An expression cannot be compiled or evaluated; the claim's or class's author must act."""


class Selectors:
    """Evaluates expressions in one environment."""

    def __init__(self, environment: kube_cel.Environment) -> None:
        self._environment = environment

    def match(self, expression: str, device: PoolDevice) -> bool:
        """Say whether the expression is true for the device. Raises SelectorError."""
        try:
            return self._environment.compile(expression).matches(_shown(device))
        except (kube_cel.CompileError, kube_cel.EvaluationError) as error:
            raise SelectorError(str(error)) from error

    def derive(self, expression: str, device: PoolDevice) -> Values:
        """Give the value of a derived attribute as constraints compare it. Raises SelectorError."""
        try:
            program = self._environment.compile(expression, "any")
            return _values(program.evaluate(_shown(device)).value)
        except (kube_cel.CompileError, kube_cel.EvaluationError) as error:
            raise SelectorError(str(error)) from error


def _shown(device: PoolDevice) -> kube_cel.Device:
    if isinstance(device.cel, kube_cel.EvaluationError):
        raise device.cel
    return device.cel


_KINDS: Final = ((bool, "bool"), (int, "int"), (str, "string"))
"""A bool is an int for Python, so it comes first."""


def _values(value: object) -> Values:
    several = value if isinstance(value, (tuple, list)) else (value,)
    return frozenset(_value(one) for one in several)


def _value(value: object) -> Value:
    if isinstance(value, kube_cel.Semver):
        return "version", _text(value)
    for python_type, kind in _KINDS:
        if isinstance(value, python_type):
            return kind, value
    raise SelectorError(f"{type(value).__name__} is no value that an attribute can have")


def _text(version: kube_cel.Semver) -> str:
    """Write a version as a slice would, so that the two compare equal."""
    text = f"{version.major}.{version.minor}.{version.patch}"
    if version.prerelease:
        text += "-" + ".".join(str(part) for part in version.prerelease)
    return f"{text}+{version.build}" if version.build else text
