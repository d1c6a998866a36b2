"""Quantities: parsing, order and arithmetic."""

from typing import Final

from kube_cel.costs import estimate_traversal, first_traversed
from kube_cel.declarations import Function
from kube_cel.errors import EvaluationError
from kube_cel.library.declare import function, method
from kube_cel.types import BOOL, DOUBLE, INT, QUANTITY, STRING
from kube_cel.values.quantity import Quantity, parse_quantity


def _is_quantity(text: str) -> bool:
    try:
        parse_quantity(text)
    except EvaluationError:
        return False
    return True


def _as_integer(quantity: Quantity) -> int:
    value = quantity.as_integer()
    if value is None:
        raise EvaluationError("cannot convert value to integer")
    return value


_TRAVERSED: Final = estimate_traversal()
_PAIR: Final = (QUANTITY, QUANTITY)

LIBRARY: Final = (
    Function(
        "quantity",
        (function("string_to_quantity", (STRING,), QUANTITY, parse_quantity),),
        cost=first_traversed,
        estimate=_TRAVERSED,
    ),
    Function(
        "isQuantity",
        (function("is_quantity_string", (STRING,), BOOL, _is_quantity),),
        cost=first_traversed,
        estimate=_TRAVERSED,
    ),
    Function(
        "sign",
        (function("quantity_sign", (QUANTITY,), INT, lambda q: (q.value > 0) - (q.value < 0)),),
    ),
    Function(
        "isGreaterThan",
        (method("quantity_is_greater_than", _PAIR, BOOL, lambda a, b: a.compare(b) > 0),),
    ),
    Function(
        "isLessThan",
        (method("quantity_is_less_than", _PAIR, BOOL, lambda a, b: a.compare(b) < 0),),
    ),
    Function("compareTo", (method("quantity_compare_to", _PAIR, INT, Quantity.compare),)),
    Function(
        "asApproximateFloat",
        (method("quantity_get_float", (QUANTITY,), DOUBLE, Quantity.as_float),),
    ),
    Function("asInteger", (method("quantity_get_int", (QUANTITY,), INT, _as_integer),)),
    Function(
        "isInteger",
        (
            method(
                "quantity_is_integer",
                (QUANTITY,),
                BOOL,
                lambda q: q.as_integer() is not None,
            ),
        ),
    ),
    Function(
        "add",
        (
            method("quantity_add", _PAIR, QUANTITY, Quantity.plus),
            method(
                "quantity_add_int",
                (QUANTITY, INT),
                QUANTITY,
                lambda q, n: q.plus(Quantity(n)),
            ),
        ),
    ),
    Function(
        "sub",
        (
            method("quantity_sub", _PAIR, QUANTITY, lambda a, b: a.plus(b, -1)),
            method(
                "quantity_sub_int",
                (QUANTITY, INT),
                QUANTITY,
                lambda q, n: q.plus(Quantity(n), -1),
            ),
        ),
    ),
)
