"""CEL over devices, each answer worked out once: selectors and derived attributes.

Answers are remembered by expression and by the values that it reads, types included, so devices
that differ only elsewhere share one. Errors are remembered too: they count only when a search
reaches such a device, so everything here raises SelectorError and decides nothing.
"""

from collections.abc import Callable, Hashable
from typing import Final, Literal, TypeVar

import kube_cel
from dra_allocator.core.search.attributes import Value, Values
from dra_allocator.core.search.devices import PoolDevice

MOST_ANSWERS: Final = 100_000
"""Answers remembered of either kind; beyond that the oldest is forgotten."""

DRIVER_ALONE: Final = frozenset({("driver",)})

Answer = TypeVar("Answer")


class SelectorError(Exception):
    """An expression cannot be compiled or evaluated; the claim's or class's author must act."""


class _Failed(str):
    """The message of an error that is remembered in place of an answer."""

    __slots__ = ()


class Selectors:
    """Evaluates expressions in one environment; keep it, for what it remembers."""

    def __init__(self, environment: kube_cel.Environment) -> None:
        self._environment = environment
        self._programs: dict[tuple[str, str], kube_cel.Program | _Failed] = {}
        self._matches: dict[Hashable, bool | _Failed] = {}
        self._values: dict[Hashable, Values | _Failed] = {}

    def match(self, expression: str, device: PoolDevice) -> bool:
        """Say whether the expression is true for the device. Raises SelectorError."""
        program = self._program(expression, "bool")
        return _remembered(self._matches, program, device, _match)

    def derive(self, expression: str, device: PoolDevice) -> Values:
        """Give the value of a derived attribute as constraints compare it. Raises SelectorError."""
        program = self._program(expression, "any")
        return _remembered(self._values, program, device, _derive)

    def _program(self, expression: str, result: Literal["bool", "any"]) -> kube_cel.Program:
        key = (expression, result)
        program = self._programs.get(key)
        if program is None:
            try:
                program = self._environment.compile(expression, result)
            except kube_cel.CompileError as error:
                program = _Failed(error)
            _keep(self._programs, key, program)
        if isinstance(program, _Failed):
            raise SelectorError(program)
        return program


def _remembered(
    answers: dict[Hashable, Answer | _Failed],
    program: kube_cel.Program,
    device: PoolDevice,
    work_out: Callable[[kube_cel.Program, kube_cel.Device], Answer],
) -> Answer:
    """Give the answer from memory if one for the same values is there."""
    key = (program, _read(program, device))
    answer = answers.get(key)
    if answer is None:
        try:
            answer = work_out(program, _shown(device))
        except (kube_cel.EvaluationError, SelectorError) as error:
            answer = _Failed(error)
        _keep(answers, key, answer)
    if isinstance(answer, _Failed):
        raise SelectorError(answer)
    return answer


Key = TypeVar("Key", bound=Hashable)
Kept = TypeVar("Kept")


def _keep(memory: dict[Key, Kept], key: Key, value: Kept) -> None:
    if len(memory) >= MOST_ANSWERS:
        del memory[next(iter(memory))]
    memory[key] = value


def _match(program: kube_cel.Program, device: kube_cel.Device) -> bool:
    return program.matches(device)


def _derive(program: kube_cel.Program, device: kube_cel.Device) -> Values:
    value = program.evaluate(device).value
    several = value if isinstance(value, (tuple, list)) else (value,)
    return frozenset(_value(one) for one in several)


def _read(program: kube_cel.Program, device: PoolDevice) -> Hashable:
    """What the program reads of the device. Raises SelectorError.

    Most classes name a driver and read nothing else: then the device need not be read either.
    """
    if device.is_sound and program.reads == DRIVER_ALONE:
        return (device.id.driver,)
    shown = _shown(device)
    values = program.projection(shown)
    return shown if values is None else values


def _shown(device: PoolDevice) -> kube_cel.Device:
    if isinstance(device.cel, kube_cel.EvaluationError):
        raise SelectorError(str(device.cel))
    return device.cel


_KINDS: Final = ((bool, "bool"), (int, "int"), (str, "string"))
"""A bool is an int for Python, so it comes first."""


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
