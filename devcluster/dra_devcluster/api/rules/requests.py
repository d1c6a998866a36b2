"""Rules for what a claim asks for: its spec, the spec inside a template, and device classes."""

from collections.abc import Iterator
from typing import Final

from dra_devcluster.api.errors import FieldError, forbidden_field, invalid_field, required_field
from dra_devcluster.api.names import (
    LABEL_RULE,
    SUBDOMAIN_RULE,
    is_driver_name,
    is_label,
    is_subdomain,
)
from dra_devcluster.api.resources import Object
from dra_devcluster.api.rules.selectors import check_selectors

REQUEST_LIMIT: Final = 32
ALTERNATIVE_LIMIT: Final = 8
MODES: Final = ("All", "ExactCount")


def request_names(devices: Object) -> set[str]:
    """What constraints, configs and results may refer to: ``name`` and ``name/alternative``."""
    names: set[str] = set()
    for request in devices.get("requests") or []:
        name = request.get("name", "")
        names.add(name)
        names |= {f"{name}/{sub.get('name', '')}" for sub in request.get("firstAvailable", [])}
    return names


def check_claim_spec(spec: Object, field: str, *, admin: bool) -> Iterator[FieldError]:
    """A claim's spec; ``admin`` says whether its namespace may have admin access."""
    devices = spec.get("devices", {})
    requests = devices.get("requests") or []
    at = f"{field}.devices"
    if len(requests) > REQUEST_LIMIT:
        yield _too_many(f"{at}.requests", len(requests), REQUEST_LIMIT)
    yield from _check_names(requests, f"{at}.requests")
    for index, request in enumerate(requests):
        yield from _check_request(request, f"{at}.requests[{index}]", admin=admin)
    names = request_names(devices)
    for group in ("constraints", "config"):
        for index, entry in enumerate(devices.get(group, [])):
            yield from check_references(entry, names, f"{at}.{group}[{index}]")
    for index, entry in enumerate(devices.get("config", [])):
        yield from check_opaque(entry, f"{at}.config[{index}]")


def _check_names(entries: list[Object], field: str) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, entry in enumerate(entries):
        name = entry.get("name", "")
        if not name:
            yield required_field(f"{field}[{index}].name")
        elif not is_label(name):
            yield invalid_field(f"{field}[{index}].name", name, LABEL_RULE)
        elif name in seen:
            yield FieldError(
                f"{field}[{index}].name", f'Duplicate value: "{name}"', reason="FieldValueDuplicate"
            )
        seen.add(name)


def _check_request(request: Object, field: str, *, admin: bool) -> Iterator[FieldError]:
    alternatives = request.get("firstAvailable", [])
    if ("exactly" in request) == bool(alternatives):
        yield required_field(field, "exactly one of `exactly` or `firstAvailable` is required")
        return
    if not alternatives:
        exactly = request["exactly"]
        yield from _check_wanted(exactly, f"{field}.exactly")
        if exactly.get("adminAccess") and not admin:
            yield forbidden_field(f"{field}.exactly.adminAccess", ADMIN_RULE)
        return
    if len(alternatives) > ALTERNATIVE_LIMIT:
        yield _too_many(f"{field}.firstAvailable", len(alternatives), ALTERNATIVE_LIMIT)
    yield from _check_names(alternatives, f"{field}.firstAvailable")
    for index, alternative in enumerate(alternatives):
        yield from _check_wanted(alternative, f"{field}.firstAvailable[{index}]")


ADMIN_RULE: Final = (
    "admin access to devices requires the `resource.kubernetes.io/admin-access: true` label on the"
    " containing namespace"
)


def _check_wanted(wanted: Object, field: str) -> Iterator[FieldError]:
    name = wanted.get("deviceClassName", "")
    if not name:
        yield required_field(f"{field}.deviceClassName")
    elif not is_subdomain(name):
        yield invalid_field(f"{field}.deviceClassName", name, SUBDOMAIN_RULE)
    mode = wanted.get("allocationMode")
    if mode not in MODES:
        supported = ", ".join(f'"{known}"' for known in MODES)
        yield FieldError(
            f"{field}.allocationMode",
            f'Unsupported value: "{mode}": supported values: {supported}',
            reason="FieldValueNotSupported",
        )
    elif mode == "ExactCount" and wanted.get("count", 0) <= 0:
        yield invalid_field(f"{field}.count", wanted.get("count", 0), "must be greater than zero")
    elif mode == "All" and wanted.get("count", 0):
        why = "must not be specified when allocationMode is 'All'"
        yield invalid_field(f"{field}.count", wanted["count"], why)
    yield from check_selectors(wanted.get("selectors", []), f"{field}.selectors")


def check_class(device_class: Object, old: Object | None) -> Iterator[FieldError]:
    """A class on its way in, or a change of one: what stays as it is, is not looked at again."""
    spec, before = device_class["spec"], old["spec"] if old is not None else {}
    if spec.get("selectors") != before.get("selectors"):
        yield from check_selectors(spec.get("selectors", []), "spec.selectors")
    for index, entry in enumerate(spec.get("config", [])):
        yield from check_opaque(entry, f"spec.config[{index}]")


def check_references(entry: Object, names: set[str], field: str) -> Iterator[FieldError]:
    """The requests that a constraint or a config names must exist."""
    for index, name in enumerate(entry.get("requests", [])):
        if name not in names:
            why = "must be the name of a request in the claim or the name of a request and a"
            yield invalid_field(
                f"{field}.requests[{index}]", name, f"{why} subrequest separated by '/'"
            )


def check_opaque(config: Object, field: str) -> Iterator[FieldError]:
    """A config says which driver it is for, and its parameters are an object."""
    opaque = config.get("opaque")
    if opaque is None:
        yield required_field(
            f"{field}.opaque", "exactly one of the configuration types is required"
        )
        return
    if not is_driver_name(opaque.get("driver", "")):
        yield invalid_field(f"{field}.opaque.driver", opaque.get("driver", ""), SUBDOMAIN_RULE)
    if not isinstance(opaque.get("parameters"), dict):
        yield invalid_field(
            f"{field}.opaque.parameters", opaque.get("parameters"), "must be a valid JSON object"
        )


def _too_many(field: str, count: int, limit: int) -> FieldError:
    problem = f"Too many: {count}: must have at most {limit} items"
    return FieldError(field, problem, reason="FieldValueTooMany")
