"""
The functions of the authorizer: declared, because they are names in this environment.

There is no authorizer to call them on, so a call compiles on a value of unknown type only
and always fails; it is charged what Kubernetes charges all the same.
"""

from typing import Final

from kube_cel.costs import TRAVERSAL
from kube_cel.declarations import CallSite, Estimate, Function, RuntimeCost, Size
from kube_cel.errors import NoSuchOverloadError
from kube_cel.library.declare import method
from kube_cel.saturating import added, multiplied, scaled
from kube_cel.types import BOOL, STRING, Kind, Type
from kube_cel.values.equality import size

_AUTHORIZER: Final = Type(Kind.OBJECT, "kubernetes.authorization.Authorizer")
_PATH: Final = Type(Kind.OBJECT, "kubernetes.authorization.PathCheck")
_GROUP: Final = Type(Kind.OBJECT, "kubernetes.authorization.GroupCheck")
_RESOURCE: Final = Type(Kind.OBJECT, "kubernetes.authorization.ResourceCheck")
_DECISION: Final = Type(Kind.OBJECT, "kubernetes.authorization.Decision")
_CHECK_COST: Final = 350_000
_SELECTOR_COST: Final = 10
_REQUIREMENT_COST: Final = 50
"""A selector of n characters counts as n / 2 requirements."""


def _no_authorizer(*_args: object) -> object:
    raise NoSuchOverloadError


def _declared(
    name: str,
    *signatures: tuple[tuple[Type, ...], Type],
    cost: RuntimeCost | None = None,
    estimate: Estimate | None = None,
) -> Function:
    overloads = tuple(
        method(f"{params[0].name}_{name}", params, result, _no_authorizer)
        for params, result in signatures
    )
    return Function(name, overloads, cost=cost, estimate=estimate)


def _selector_cost(_resource: object, selector: object) -> int:
    return _selector(size(selector))


def _estimate_selector(site: CallSite) -> tuple[int, Size | None]:
    return _selector(site.size(1).high), None


def _selector(length: int) -> int:
    requirements = multiplied(scaled(length, 0.5), _REQUIREMENT_COST)
    return added(_SELECTOR_COST, scaled(length, TRAVERSAL), requirements)


_ONE_STRING: Final = (_RESOURCE, STRING)

LIBRARY: Final = (
    _declared("path", ((_AUTHORIZER, STRING), _PATH)),
    _declared("group", ((_AUTHORIZER, STRING), _GROUP)),
    _declared("serviceAccount", ((_AUTHORIZER, STRING, STRING), _AUTHORIZER)),
    _declared("resource", ((_GROUP, STRING), _RESOURCE)),
    _declared("subresource", (_ONE_STRING, _RESOURCE)),
    _declared("namespace", (_ONE_STRING, _RESOURCE)),
    _declared("name", (_ONE_STRING, _RESOURCE)),
    *(
        _declared(
            name,
            (_ONE_STRING, _RESOURCE),
            cost=_selector_cost,
            estimate=_estimate_selector,
        )
        for name in ("fieldSelector", "labelSelector")
    ),
    _declared(
        "check",
        ((_PATH, STRING), _DECISION),
        ((_RESOURCE, STRING), _DECISION),
        cost=lambda *_args: _CHECK_COST,
        estimate=lambda _site: (_CHECK_COST, None),
    ),
    _declared("allowed", ((_DECISION,), BOOL)),
    _declared("reason", ((_DECISION,), STRING)),
    _declared("errored", ((_DECISION,), BOOL)),
    _declared("error", ((_DECISION,), STRING)),
)
