"""Rules for ResourceClaims: what may be allocated, reserved and reported, and when.

The server checks form, never substance: that a device exists or is free is nobody's rule here,
exactly as in Kubernetes.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from dra_devcluster.api.errors import FieldError, forbidden_field, invalid_field, required_field
from dra_devcluster.api.names import (
    LABEL_RULE,
    SUBDOMAIN_RULE,
    is_driver_name,
    is_label,
    is_pool_name,
    is_qualified_name,
)
from dra_devcluster.api.resources import Object
from dra_devcluster.api.rules.requests import (
    ADMIN_RULE,
    check_claim_spec,
    check_opaque,
    check_references,
    request_names,
)
from dra_devcluster.api.strategy import allocated_devices, device_key

IMMUTABLE: Final = "field is immutable"
RESULT_LIMIT: Final = 32
CONFIG_LIMIT: Final = 64
RESERVED_LIMIT: Final = 256
CONDITION_LIMIT: Final = 4
SHARE_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def check_new_claim(claim: Object, *, admin: bool) -> Iterator[FieldError]:
    """A claim on its way in; ``admin``: its namespace may have admin access."""
    yield from check_claim_spec(claim["spec"], "spec", admin=admin)


def check_claim_change(claim: Object, old: Object) -> Iterator[FieldError]:
    """The spec never changes."""
    if claim["spec"] != old["spec"]:
        yield FieldError("spec", f"Invalid value: {IMMUTABLE}")


def check_template(template: Object, old: Object | None, *, admin: bool) -> Iterator[FieldError]:
    """A template's spec is valid and never changes."""
    yield from check_claim_spec(template["spec"]["spec"], "spec.spec", admin=admin)
    if old is not None and template["spec"] != old["spec"]:
        yield FieldError("spec", f"Invalid value: {IMMUTABLE}")


def check_claim_status(claim: Object, old: Object, *, admin: bool) -> Iterator[FieldError]:
    """The allocation is set once or taken back whole; consumers only hold what is allocated."""
    status, before = claim["status"], old.get("status", {})
    yield from _check_reserved(claim, before)
    allocation, allocated = status.get("allocation"), before.get("allocation")
    if allocation is not None and allocated is None:
        yield from _check_allocation(allocation, claim["spec"], admin=admin)
    elif allocation is not None and allocation != allocated:
        yield FieldError("status.allocation", f"Invalid value: {IMMUTABLE}")
    held = allocated_devices(status)
    for index, entry in enumerate(status.get("devices", [])):
        if device_key(entry) not in held:
            why = "must be an allocated device in the claim"
            yield invalid_field(f"status.devices[{index}]", entry.get("device", ""), why)


def _check_reserved(claim: Object, before: Object) -> Iterator[FieldError]:
    field = "status.reservedFor"
    reserved = claim["status"].get("reservedFor", [])
    known = {entry["uid"] for entry in before.get("reservedFor", [])}
    uids = [entry.get("uid", "") for entry in reserved]
    if reserved and "allocation" not in claim["status"]:
        yield forbidden_field(field, "may not be specified when `allocated` is not set")
    if set(uids) - known and claim["metadata"].get("deletionTimestamp"):
        why = "new entries may not be added while `deletionTimestamp` is set"
        yield forbidden_field(field, why)
    if len(reserved) > RESERVED_LIMIT:
        yield FieldError(
            field, f"Too many: {len(reserved)}: must have at most {RESERVED_LIMIT} items"
        )
    for index, entry in enumerate(reserved):
        for name in ("resource", "name", "uid"):
            if not entry.get(name):
                yield required_field(f"{field}[{index}].{name}")
        if entry.get("uid") in uids[:index]:
            problem = f'Duplicate value: "{entry["uid"]}"'
            yield FieldError(f"{field}[{index}].uid", problem, reason="FieldValueDuplicate")


def _check_allocation(allocation: Object, spec: Object, *, admin: bool) -> Iterator[FieldError]:
    field = "status.allocation"
    names = request_names(spec.get("devices", {}))
    devices = allocation.get("devices", {})
    results, configs = devices.get("results", []), devices.get("config", [])
    if len(results) > RESULT_LIMIT or len(configs) > CONFIG_LIMIT:
        yield FieldError(f"{field}.devices", "Too many: results or config over the limit")
    for index, result in enumerate(results):
        yield from _check_result(result, names, f"{field}.devices.results[{index}]")
        if result.get("adminAccess") and not admin:
            yield forbidden_field(f"{field}.devices.results[{index}].adminAccess", ADMIN_RULE)
    for index, config in enumerate(configs):
        at = f"{field}.devices.config[{index}]"
        if config.get("source") not in ("FromClaim", "FromClass"):
            yield _unsupported(f"{at}.source", config.get("source"))
        yield from check_references(config, names, at)
        yield from check_opaque(config, at)
    selector = allocation.get("nodeSelector")
    if selector is not None and not selector.get("nodeSelectorTerms"):
        why = "must have at least one node selector term"
        yield required_field(f"{field}.nodeSelector.nodeSelectorTerms", why)


def _check_result(result: Object, names: set[str], field: str) -> Iterator[FieldError]:
    if result.get("request", "") not in names:
        why = "must be the name of a request in the claim or the name of a request and a subrequest"
        yield invalid_field(
            f"{field}.request", result.get("request", ""), f"{why} separated by '/'"
        )
    if not is_driver_name(result.get("driver", "")):
        yield invalid_field(f"{field}.driver", result.get("driver", ""), SUBDOMAIN_RULE)
    if not is_pool_name(result.get("pool", "")):
        yield invalid_field(f"{field}.pool", result.get("pool", ""), SUBDOMAIN_RULE)
    if not is_label(result.get("device", "")):
        yield invalid_field(f"{field}.device", result.get("device", ""), LABEL_RULE)
    if "shareID" in result and not SHARE_ID.fullmatch(result["shareID"]):
        why = "must be a lowercase UUID in 8-4-4-4-12 format"
        yield invalid_field(f"{field}.shareID", result["shareID"], why)
    for name in ("bindingConditions", "bindingFailureConditions"):
        conditions = result.get(name, [])
        if len(conditions) > CONDITION_LIMIT or not all(map(is_qualified_name, conditions)):
            yield invalid_field(f"{field}.{name}", conditions, "at most 4 qualified names")


def _unsupported(field: str, value: Any) -> FieldError:
    problem = f'Unsupported value: "{value}": supported values: "FromClaim", "FromClass"'
    return FieldError(field, problem, reason="FieldValueNotSupported")
