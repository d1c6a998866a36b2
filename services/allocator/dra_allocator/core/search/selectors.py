"""CEL over devices, each answer worked out once: selectors and derived attributes.

A selector is asked of many devices at once, and most need no more than that. Where an expression
has to be evaluated, the answer is remembered by the values that it reads, types included, so devices
that differ only elsewhere share one. Errors are remembered too: they count only when a search
reaches such a device, so nothing is decided here.
"""

from collections.abc import Callable, Hashable, Sequence
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


class Failed(str):
    """Why there is no answer, in place of the answer."""

    __slots__ = ()


class Selectors:
    """Evaluates expressions in one environment; keep it, for what it remembers."""

    def __init__(self, environment: kube_cel.Environment) -> None:
        self._environment = environment
        self._programs: dict[tuple[str, str], kube_cel.Program | Failed] = {}
        self._matches: dict[Hashable, bool | Failed] = {}
        self._values: dict[Hashable, Values | Failed] = {}

    def matches(self, expression: str, devices: Sequence[PoolDevice]) -> list[bool | Failed]:
        """Say for each of the devices whether the expression is true, or why nobody can say."""
        program = self._program(expression, "bool")
        if isinstance(program, Failed):
            return [program] * len(devices)
        if program.reads == DRIVER_ALONE and all(device.is_sound for device in devices):
            return self._of_drivers(program, devices)
        shown = [device.cel for device in devices]
        return program.answers(shown, lambda one: self._match(program, one))

    def derive(self, expression: str, device: PoolDevice) -> Values:
        """Give the value of a derived attribute as constraints compare it. Raises SelectorError."""
        program, shown = self._program(expression, "any"), device.cel
        if isinstance(program, Failed):
            raise SelectorError(program)
        if isinstance(shown, kube_cel.EvaluationError):
            raise SelectorError(str(shown))
        values = _remembered(self._values, program, shown, _derive)
        if isinstance(values, Failed):
            raise SelectorError(values)
        return values

    def _program(
        self, expression: str, result: Literal["bool", "any"]
    ) -> kube_cel.Program | Failed:
        key = (expression, result)
        program = self._programs.get(key)
        if program is None:
            try:
                program = self._environment.compile(expression, result)
            except kube_cel.CompileError as error:
                program = Failed(error)
            _keep(self._programs, key, program)
        return program

    def _of_drivers(
        self, program: kube_cel.Program, devices: Sequence[PoolDevice]
    ) -> list[bool | Failed]:
        """Answer by driver, which most classes name; then the devices need not even be read."""
        drivers = {device.id.driver for device in devices}
        answers = {one: self._match(program, kube_cel.Device(one, {}, {})) for one in drivers}
        return [answers[device.id.driver] for device in devices]

    def _match(
        self, program: kube_cel.Program, shown: kube_cel.Device | kube_cel.EvaluationError
    ) -> bool | Failed:
        if isinstance(shown, kube_cel.EvaluationError):
            return Failed(shown)
        return _remembered(self._matches, program, shown, kube_cel.Program.matches)


def _remembered(
    answers: dict[Hashable, Answer | Failed],
    program: kube_cel.Program,
    device: kube_cel.Device,
    work_out: Callable[[kube_cel.Program, kube_cel.Device], Answer],
) -> Answer | Failed:
    """Give the answer from memory if one for the same values is there."""
    values = program.projection(device)
    key = (program, device if values is None else values)
    answer = answers.get(key)
    if answer is None:
        try:
            answer = work_out(program, device)
        except (kube_cel.EvaluationError, SelectorError) as error:
            answer = Failed(error)
        _keep(answers, key, answer)
    return answer


Key = TypeVar("Key", bound=Hashable)
Kept = TypeVar("Kept")


def _keep(memory: dict[Key, Kept], key: Key, value: Kept) -> None:
    if len(memory) >= MOST_ANSWERS:
        del memory[next(iter(memory))]
    memory[key] = value


def _derive(program: kube_cel.Program, device: kube_cel.Device) -> Values:
    value = program.evaluate(device).value
    several = value if isinstance(value, (tuple, list)) else (value,)
    return frozenset(_value(one) for one in several)


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
