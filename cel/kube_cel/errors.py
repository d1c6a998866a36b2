"""
What can go wrong with an expression: two families, by who must act.

``CompileError`` means the author of the expression must change it. ``EvaluationError``
means this expression and this device do not fit each other. Nothing else leaves the
package: an exception of another kind is a fault of ours.
"""

from enum import StrEnum


class CompileErrorKind(StrEnum):
    """The error type that Kubernetes reports for an expression that does not compile."""

    RULE_INVALID = "RuleInvalid"
    """The text is wrong: syntax, names, types, or a literal that can never work."""
    INTERNAL = "InternalError"
    """The text is well typed, but a constant in it fails when the program is made."""


class CompileError(Exception):
    """The expression can never be evaluated; its author must change it."""

    def __init__(self, kind: CompileErrorKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


class ExpressionFault(Exception):  # noqa: N818 - a step on the way to a CompileError
    """A fault at a place in the text; ``offset`` counts code points, -1 is the whole text."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset
        self.message = message


class EvaluationError(Exception):
    """The expression has no value for this device. ``cost`` is what was spent until then."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        self.cost = 0


class NoSuchKeyError(EvaluationError):
    """A field or key that the expression reads is not there; ``key`` names it."""

    def __init__(self, key: object) -> None:
        super().__init__(f"no such key: {key}")
        self.key = key


class NoSuchOverloadError(EvaluationError):
    """A function or operator met a value of a type that it is not defined for."""

    def __init__(self, function: str = "") -> None:
        super().__init__(f"no such overload: {function}" if function else "no such overload")


class NotBooleanError(EvaluationError):
    """The expression has a value, but not true or false."""

    def __init__(self, type_name: str) -> None:
        super().__init__(f"CEL result of type {type_name} could not be converted to bool")


class AbortedError(EvaluationError):
    """The evaluation was stopped; ``&&``, ``||`` and macros do not absorb this."""


class BrokenDownError(AbortedError):
    """Kubernetes' own engine breaks down at this point of the evaluation, so we stop here."""


class CostExceededError(AbortedError):
    """The evaluation went over its cost limit."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


class WorkExceededError(AbortedError):
    """The evaluation took more work than its cost shows; see ``values.work``."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: too much work for its cost")


class DeadlineExceededError(AbortedError):
    """The evaluation took longer than its caller allowed."""

    def __init__(self) -> None:
        super().__init__("operation interrupted")
