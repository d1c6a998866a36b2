"""Two words for writing declarations: a function called as ``f(x)``, a method as ``x.f()``."""

import msgspec

from kube_cel.declarations import Estimate, Implementation, Overload, ResultCost, RuntimeCost
from kube_cel.types import Type


def function(  # noqa: PLR0913 - a declaration is one row of a table
    overload: str,
    params: tuple[Type, ...],
    result: Type,
    call: Implementation,
    *,
    cost: RuntimeCost | None = None,
    estimate: Estimate | None = None,
    result_cost: ResultCost | None = None,
) -> Overload:
    """A signature that is called as ``name(params)``."""
    return Overload(
        overload, params, result, call, cost=cost, estimate=estimate, result_cost=result_cost
    )


def method(  # noqa: PLR0913 - a declaration is one row of a table
    overload: str,
    params: tuple[Type, ...],
    result: Type,
    call: Implementation,
    *,
    cost: RuntimeCost | None = None,
    estimate: Estimate | None = None,
    result_cost: ResultCost | None = None,
) -> Overload:
    """A signature that is called as ``params[0].name(rest)``."""
    made = function(
        overload, params, result, call, cost=cost, estimate=estimate, result_cost=result_cost
    )
    return msgspec.structs.replace(made, member=True)
