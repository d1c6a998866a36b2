"""
The functions of the authorizer: declared, because they are names in this environment.

There is no authorizer to call them on, so a call compiles on a value of unknown type only
and always fails; ``check`` is charged what Kubernetes charges for it all the same.
"""

from typing import Final

from kube_cel.declarations import Function
from kube_cel.errors import NoSuchOverloadError
from kube_cel.library.declare import method
from kube_cel.types import BOOL, STRING, Kind, Type

_AUTHORIZER: Final = Type(Kind.OBJECT, "kubernetes.authorization.Authorizer")
_PATH: Final = Type(Kind.OBJECT, "kubernetes.authorization.PathCheck")
_GROUP: Final = Type(Kind.OBJECT, "kubernetes.authorization.GroupCheck")
_RESOURCE: Final = Type(Kind.OBJECT, "kubernetes.authorization.ResourceCheck")
_DECISION: Final = Type(Kind.OBJECT, "kubernetes.authorization.Decision")
_CHECK_COST: Final = 350_000


def _no_authorizer(*_args: object) -> object:
    raise NoSuchOverloadError


def _declared(name: str, *signatures: tuple[tuple[Type, ...], Type]) -> Function:
    overloads = tuple(
        method(f"{params[0].name}_{name}", params, result, _no_authorizer)
        for params, result in signatures
    )
    if name == "check":
        return Function(
            name,
            overloads,
            cost=lambda *_args: _CHECK_COST,
            estimate=lambda _site: (_CHECK_COST, None),
        )
    return Function(name, overloads)


_ONE_STRING: Final = (_RESOURCE, STRING)

LIBRARY: Final = (
    _declared("path", ((_AUTHORIZER, STRING), _PATH)),
    _declared("group", ((_AUTHORIZER, STRING), _GROUP)),
    _declared("serviceAccount", ((_AUTHORIZER, STRING, STRING), _AUTHORIZER)),
    _declared("resource", ((_GROUP, STRING), _RESOURCE)),
    _declared("subresource", (_ONE_STRING, _RESOURCE)),
    _declared("namespace", (_ONE_STRING, _RESOURCE)),
    _declared("name", (_ONE_STRING, _RESOURCE)),
    _declared("fieldSelector", (_ONE_STRING, _RESOURCE)),
    _declared("labelSelector", (_ONE_STRING, _RESOURCE)),
    _declared("check", ((_PATH, STRING), _DECISION), ((_RESOURCE, STRING), _DECISION)),
    _declared("allowed", ((_DECISION,), BOOL)),
    _declared("reason", ((_DECISION,), STRING)),
    _declared("errored", ((_DECISION,), BOOL)),
    _declared("error", ((_DECISION,), STRING)),
)
