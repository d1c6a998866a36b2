"""URLs."""

from typing import Final

from kube_cel.costs import estimate_traversal, first_traversed
from kube_cel.declarations import Function
from kube_cel.errors import EvaluationError
from kube_cel.library.declare import function, method
from kube_cel.types import BOOL, LIST_STRING, STRING, URL, map_of
from kube_cel.values.url import Url, escaped_path, parse_request, parse_url, query_values


def _is_url(text: str) -> bool:
    try:
        parse_request(text)
    except EvaluationError:
        return False
    return True


def _split_port(host: str) -> tuple[str, str]:
    """The host without its port, and the port."""
    colon = host.rfind(":")
    if colon < 0 or "]" in host[colon:]:
        return host, ""
    return host[:colon], host[colon + 1 :]


def _hostname(url: Url) -> str:
    name = _split_port(url.host)[0]
    return name[1:-1] if name.startswith("[") and name.endswith("]") else name


def _query(url: Url) -> dict[str, object]:
    return {name: tuple(values) for name, values in query_values(url.query).items()}


LIBRARY: Final = (
    Function(
        "url",
        (function("string_to_url", (STRING,), URL, parse_url),),
        cost=first_traversed,
        estimate=estimate_traversal(keeps_size=True),
    ),
    Function("isURL", (function("is_url_string", (STRING,), BOOL, _is_url),)),
    Function("getScheme", (method("url_get_scheme", (URL,), STRING, lambda u: u.scheme),)),
    Function("getHost", (method("url_get_host", (URL,), STRING, lambda u: u.host),)),
    Function("getHostname", (method("url_get_hostname", (URL,), STRING, _hostname),)),
    Function(
        "getPort", (method("url_get_port", (URL,), STRING, lambda u: _split_port(u.host)[1]),)
    ),
    Function(
        "getEscapedPath",
        (method("url_get_escaped_path", (URL,), STRING, lambda u: escaped_path(u.path)),),
    ),
    Function(
        "getQuery",
        (method("url_get_query", (URL,), map_of(STRING, LIST_STRING), _query),),
    ),
)
