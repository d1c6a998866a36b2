"""IP addresses and networks."""

import math
from collections.abc import Callable
from typing import Any, Final

from kube_cel.costs import TRAVERSAL, estimate_traversal, first_rebuilt, first_traversed, one, tenth
from kube_cel.declarations import CallSite, Estimate, Function, Size
from kube_cel.errors import EvaluationError, NoSuchOverloadError
from kube_cel.library.declare import function, method
from kube_cel.saturating import added, scaled
from kube_cel.types import BOOL, CIDR, INT, IP, STRING
from kube_cel.values.equality import size
from kube_cel.values.network import Cidr, Ip, parse_cidr, parse_ip

_LARGEST: Final = 16


def _is_ip(text: str) -> bool:
    try:
        parse_ip(text)
    except EvaluationError:
        return False
    return True


def _is_cidr(text: str) -> bool:
    try:
        parse_cidr(text)
    except EvaluationError:
        return False
    return True


def _link_local_multicast(ip: Ip) -> bool:
    value = int(ip.address)
    if ip.address.version == 4:  # noqa: PLR2004 - IPv4
        return value >> 8 == 0xE00000  # noqa: PLR2004 - 224.0.0.0/24
    return value >> 120 == 0xFF and value >> 112 & 0x0F == 0x02  # noqa: PLR2004 - ff02::/16 and its flags


def _global_unicast(ip: Ip) -> bool:
    address = ip.address
    if address.is_unspecified or address.is_loopback or address.is_multicast:
        return False
    return not _link_local_unicast(ip) and str(address) != "255.255.255.255"


def _link_local_unicast(ip: Ip) -> bool:
    value = int(ip.address)
    if ip.address.version == 4:  # noqa: PLR2004 - IPv4
        return value >> 16 == 0xA9FE  # noqa: PLR2004 - 169.254.0.0/16
    return value >> 118 == 0x3FA  # noqa: PLR2004 - fe80::/10


def _argument(text: str, parse: Callable[[str], Any]) -> Any:
    try:
        return parse(text)
    except EvaluationError:
        raise NoSuchOverloadError from None


def _contains_cidr(outer: Cidr, inner: Cidr) -> bool:
    return outer.bits <= inner.bits and outer.contains(inner.address)


def _compare_cost(cidr: object) -> int:
    return math.ceil((size(cidr) + size(cidr)) * TRAVERSAL)


def _contains_ip_cost(cidr: object, _other: object) -> int:
    return _compare_cost(cidr)


def _contains_ip_text_cost(cidr: object, text: object) -> int:
    return _compare_cost(cidr) + tenth(size(text))


def _contains_cidr_cost(cidr: object, _other: object) -> int:
    return _compare_cost(cidr) + tenth(size(cidr)) + 1


def _contains_cidr_text_cost(cidr: object, text: object) -> int:
    return _contains_cidr_cost(cidr, text) + tenth(size(text))


def _estimate(parts: int, *, extra: int, text: bool) -> Estimate:
    def estimate(site: CallSite) -> tuple[int, Size | None]:
        cost = scaled(2 * _LARGEST, TRAVERSAL) + extra
        if parts > 1:
            cost += scaled(_LARGEST, TRAVERSAL)
        return added(cost, scaled(site.size(1).high, TRAVERSAL) if text else 0), None

    return estimate


_ONE: Final = estimate_traversal()

LIBRARY: Final = (
    Function(
        "ip",
        (
            function("string_to_ip", (STRING,), IP, parse_ip, estimate=_ONE),
            method("cidr_ip", (CIDR,), IP, lambda cidr: Ip(cidr.address), cost=one),
        ),
        cost=first_traversed,
    ),
    Function(
        "isIP",
        (function("is_ip", (STRING,), BOOL, _is_ip),),
        cost=first_traversed,
        estimate=_ONE,
    ),
    Function(
        "ip.isCanonical",
        (function("ip_is_canonical", (STRING,), BOOL, lambda text: str(parse_ip(text)) == text),),
        cost=first_rebuilt,
        estimate=estimate_traversal(factor=2 * TRAVERSAL),
    ),
    Function("family", (method("ip_family", (IP,), INT, lambda ip: ip.address.version),)),
    Function(
        "isUnspecified",
        (method("ip_is_unspecified", (IP,), BOOL, lambda ip: ip.address.is_unspecified),),
    ),
    Function(
        "isLoopback",
        (method("ip_is_loopback", (IP,), BOOL, lambda ip: ip.address.is_loopback),),
    ),
    Function(
        "isLinkLocalMulticast",
        (method("ip_is_link_local_multicast", (IP,), BOOL, _link_local_multicast),),
    ),
    Function(
        "isLinkLocalUnicast",
        (method("ip_is_link_local_unicast", (IP,), BOOL, _link_local_unicast),),
    ),
    Function(
        "isGlobalUnicast",
        (method("ip_is_global_unicast", (IP,), BOOL, _global_unicast),),
    ),
    Function(
        "cidr",
        (function("string_to_cidr", (STRING,), CIDR, parse_cidr),),
        cost=first_traversed,
        estimate=_ONE,
    ),
    Function(
        "isCIDR",
        (function("is_cidr", (STRING,), BOOL, _is_cidr),),
        cost=first_traversed,
        estimate=_ONE,
    ),
    Function("masked", (method("cidr_masked", (CIDR,), CIDR, Cidr.masked),)),
    Function(
        "prefixLength",
        (method("cidr_prefix_length", (CIDR,), INT, lambda cidr: cidr.bits),),
    ),
    Function(
        "containsIP",
        (
            method(
                "cidr_contains_ip_string",
                (CIDR, STRING),
                BOOL,
                lambda cidr, text: cidr.contains(_argument(text, parse_ip).address),
                cost=_contains_ip_text_cost,
                estimate=_estimate(1, extra=0, text=True),
            ),
            method(
                "cidr_contains_ip_ip",
                (CIDR, IP),
                BOOL,
                lambda cidr, ip: cidr.contains(ip.address),
                estimate=_estimate(1, extra=0, text=False),
            ),
        ),
        cost=_contains_ip_cost,
    ),
    Function(
        "containsCIDR",
        (
            method(
                "cidr_contains_cidr_string",
                (CIDR, STRING),
                BOOL,
                lambda cidr, text: _contains_cidr(cidr, _argument(text, parse_cidr)),
                cost=_contains_cidr_text_cost,
                estimate=_estimate(2, extra=1, text=True),
            ),
            method(
                "cidr_contains_cidr",
                (CIDR, CIDR),
                BOOL,
                _contains_cidr,
                estimate=_estimate(2, extra=1, text=False),
            ),
        ),
        cost=_contains_cidr_cost,
    ),
)
