"""Named formats: rules for strings that Kubernetes has names for."""

import re
from collections.abc import Callable
from datetime import date
from typing import Final

from kube_cel.costs import PATTERN, TRAVERSAL
from kube_cel.declarations import CallSite, Function, Size
from kube_cel.errors import EvaluationError
from kube_cel.library.declare import function, method
from kube_cel.saturating import multiplied, scaled
from kube_cel.types import FORMAT, LIST_STRING, STRING, optional_of
from kube_cel.values.equality import size
from kube_cel.values.formats import NamedFormat
from kube_cel.values.optional import NONE, Optional
from kube_cel.values.url import parse_request

_Check = Callable[[str], tuple[str, ...]]

_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?\Z")
_LABEL_1035: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?\Z")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")
_NAME: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]\Z")
_UUID: Final = re.compile(r"[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}\Z", re.IGNORECASE)
_BASE64: Final = re.compile(
    r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})\Z"
)
_DATE: Final = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})\Z")
_TIME: Final = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})\Z")
_LABEL_LENGTH: Final = 63
_SUBDOMAIN_LENGTH: Final = 253
_ESTIMATED_PATTERN: Final = 32


def _shaped(pattern: re.Pattern[str], longest: int, rule: str) -> _Check:
    def check(text: str) -> tuple[str, ...]:
        faults = () if pattern.match(text) else (rule,)
        if len(text.encode()) > longest:
            return (f"must be no more than {longest} characters", *faults)
        return faults

    return check


_check_label_shape: Final = _shaped(
    _LABEL,
    _LABEL_LENGTH,
    "a label of RFC 1123 holds lower case alphanumeric characters and '-' only, and neither "
    "its first nor its last character is a '-': 'gpu', 'gpu-0' and '8xh100' are labels, while "
    "'GPU', '-gpu', 'gpu-', 'gpu.0' and 'gpu_0' are not labels",
)
_check_label_1035: Final = _shaped(
    _LABEL_1035,
    _LABEL_LENGTH,
    "a DNS-1035 label holds lower case alphanumeric characters and inner '-' only, "
    "and starts with a letter",
)
_check_subdomain: Final = _shaped(
    _SUBDOMAIN,
    _SUBDOMAIN_LENGTH,
    "a lowercase RFC 1123 subdomain holds labels of lower case alphanumeric characters "
    "and inner '-', joined by '.'",
)
_check_name: Final = _shaped(
    _NAME,
    _LABEL_LENGTH,
    "name part holds alphanumeric characters and inner '-', '_' or '.' only",
)


def _check_label(text: str) -> tuple[str, ...]:
    faults = _check_label_shape(text)
    if faults and _SUBDOMAIN.match(text) and len(text) <= _LABEL_LENGTH:
        return ("a dot is not allowed here",)
    return faults


def _check_label_value(text: str) -> tuple[str, ...]:
    faults: tuple[str, ...] = ()
    if len(text.encode()) > _LABEL_LENGTH:
        faults = (f"must be no more than {_LABEL_LENGTH} characters",)
    if text and not _NAME.match(text):
        rule = "a valid label must be empty or hold alphanumeric characters and inner '-_.'"
        return (*faults, rule)
    return faults


def _check_qualified_name(text: str) -> tuple[str, ...]:
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        return ("a qualified name has at most one '/'",)
    faults: list[str] = []
    if slash:
        faults += ["prefix part must be non-empty"] if not prefix else _check_subdomain(prefix)
    if not name:
        faults.append("name part must be non-empty")
    return (*faults, *_check_name(name))


def _prefix(check: _Check) -> _Check:
    """The rule for the start of a generated name: it may end with a dash."""

    def masked(text: str) -> tuple[str, ...]:
        return check(text[:-2] + "a" if len(text) > 1 and text.endswith("-") else text)

    return masked


def _says(fault: str, fits: Callable[[str], object]) -> _Check:
    return lambda text: () if fits(text) else (fault,)


def _check_uri(text: str) -> tuple[str, ...]:
    try:
        parse_request(text)
    except EvaluationError as error:
        return (error.message,)
    return ()


def _is_date(text: str) -> bool:
    found = _DATE.match(text)
    if found is None:
        return False
    try:
        date(int(found[1]), int(found[2]), int(found[3]))
    except ValueError:
        return False
    return True


def _is_datetime(text: str) -> bool:
    day, _, rest = text.lower().partition("t")
    found = _TIME.match(rest)
    if found is None or not _is_date(day):
        return False
    return found[1] <= "23" and found[2] <= "59" and found[3] <= "59"


_FORMATS: Final = {
    each.name: each
    for each in (
        NamedFormat("dns1123Label", _check_label, 30),
        NamedFormat("dns1123Subdomain", _check_subdomain, 60),
        NamedFormat("dns1035Label", _check_label_1035, 30),
        NamedFormat("qualifiedName", _check_qualified_name, 60),
        NamedFormat("dns1123LabelPrefix", _prefix(_check_label), 30),
        NamedFormat("dns1123SubdomainPrefix", _prefix(_check_subdomain), 60),
        NamedFormat("dns1035LabelPrefix", _prefix(_check_label_1035), 30),
        NamedFormat("labelValue", _check_label_value, 40),
        NamedFormat("uri", _check_uri, 1103),
        NamedFormat("uuid", _says("does not match the UUID format", _UUID.match), 70),
        NamedFormat("byte", _says("invalid base64", _BASE64.match), 84),
        NamedFormat("date", _says("invalid date", _is_date), 71),
        NamedFormat("datetime", _says("invalid datetime", _is_datetime), 71),
    )
}


def _named(name: str) -> Optional:
    found = _FORMATS.get(name)
    return NONE if found is None else Optional(found)


def _validate(rule: NamedFormat, text: str) -> Optional:
    faults = rule.check(text)
    return Optional(faults) if faults else NONE


def _validate_cost(rule: object, text: object) -> int:
    if not isinstance(rule, NamedFormat):
        return 1
    tried = scaled(size(text) + 1, TRAVERSAL)
    return tried * scaled(rule.pattern_size, PATTERN)


def _estimate_validate(site: CallSite) -> tuple[int, Size | None]:
    return multiplied(scaled(site.size(1).high, TRAVERSAL), _ESTIMATED_PATTERN), None


LIBRARY: Final = (
    Function(
        "validate",
        (method("format-validate", (FORMAT, STRING), optional_of(LIST_STRING), _validate),),
        cost=_validate_cost,
        estimate=_estimate_validate,
    ),
    Function(
        "format.named",
        (function("format-named", (STRING,), optional_of(FORMAT), _named),),
    ),
    *(
        Function(
            f"format.{name}",
            (function(f"format.{name}", (), FORMAT, lambda rule=rule: rule),),
        )
        for name, rule in _FORMATS.items()
    ),
)
