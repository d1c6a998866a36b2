"""CEL over devices, each answer worked out once.

Answers are remembered by expression and by the values that the expression reads, so devices that
differ only elsewhere share one. Errors are remembered too: they count only when a search reaches
such a device. The environment comes from outside; this module knows no CEL.
"""

import kube_cel
from dra_allocator.core.search.attributes import Values


class SelectorError(Exception):
    """An expression cannot be compiled or evaluated; the claim's or class's author must act."""


class Selectors:
    """Evaluates expressions; keep one as long as possible, for what it remembers."""

    def __init__(self, environment: kube_cel.Environment) -> None:
        self._environment = environment
        self._programs: dict[str, kube_cel.Program | SelectorError] = {}

    def match(self, expression: str, device: kube_cel.Device) -> bool:
        """Say whether the expression is true for the device. Raises SelectorError."""
        try:
            return self._program(expression).matches(device)
        except kube_cel.EvaluationError as error:
            raise SelectorError(str(error)) from error

    def derive(self, expression: str, device: kube_cel.Device) -> Values:
        """Give the value of an expression as constraints compare it. Raises SelectorError."""
        try:
            v = self._program(expression).value(device)
        except kube_cel.EvaluationError as error:
            raise SelectorError(str(error)) from error
        kind = type(v).__name__
        if isinstance(v, list):
            return frozenset((type(x).__name__.replace("str", "string"), x) for x in v)
        return frozenset({(kind.replace("str", "string"), v)})

    def _program(self, expression: str) -> kube_cel.Program:
        program = self._programs.get(expression)
        if program is None:
            try:
                program = self._environment.compile(expression)
            except kube_cel.CompileError as error:
                program = SelectorError(f"does not compile: {error}")
            self._programs[expression] = program
        if isinstance(program, SelectorError):
            raise program
        return program
