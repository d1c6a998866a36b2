"""The types of the logical operators. How they short-circuit is the evaluator's own."""

from typing import Final

from kube_cel.declarations import Function
from kube_cel.errors import NoSuchOverloadError
from kube_cel.library.declare import function
from kube_cel.types import BOOL, A


def _not(value: object) -> bool:
    return not value


def _evaluated_elsewhere(*_args: object) -> object:
    raise NoSuchOverloadError


LIBRARY: Final = (
    Function("!_", (function("logical_not", (BOOL,), BOOL, _not),)),
    Function("_&&_", (function("logical_and", (BOOL, BOOL), BOOL, _evaluated_elsewhere),)),
    Function("_||_", (function("logical_or", (BOOL, BOOL), BOOL, _evaluated_elsewhere),)),
    Function("_?_:_", (function("conditional", (BOOL, A, A), A, _evaluated_elsewhere),)),
    Function(
        "@not_strictly_false",
        (function("not_strictly_false", (BOOL,), BOOL, _evaluated_elsewhere),),
    ),
)
