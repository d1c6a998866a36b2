"""Two words for writing declarations: a function called as ``f(x)``, a method as ``x.f()``."""

from kube_cel.declarations import Estimate, Implementation, Overload, RuntimeCost
from kube_cel.types import Type


def function(  # noqa: PLR0913 - a declaration is one row of a table
    overload: str,
    params: tuple[Type, ...],
    result: Type,
    call: Implementation,
    *,
    cost: RuntimeCost | None = None,
    estimate: Estimate | None = None,
) -> Overload:
    """A signature that is called as ``name(params)``."""
    return Overload(overload, params, result, call, cost=cost, estimate=estimate)


def method(  # noqa: PLR0913 - a declaration is one row of a table
    overload: str,
    params: tuple[Type, ...],
    result: Type,
    call: Implementation,
    *,
    cost: RuntimeCost | None = None,
    estimate: Estimate | None = None,
) -> Overload:
    """A signature that is called as ``params[0].name(rest)``."""
    return Overload(overload, params, result, call, member=True, cost=cost, estimate=estimate)
