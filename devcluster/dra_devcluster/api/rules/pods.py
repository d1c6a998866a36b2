"""Rules for pods: little may change after creation, and a gate only ever goes away.

Of a pod's spec only what DRA and kubectl meet is checked; images, volumes and probes are not.
"""

from collections.abc import Iterator
from typing import Any, Final

from dra_devcluster.api.errors import FieldError, forbidden_field, invalid_field, required_field
from dra_devcluster.api.names import LABEL_RULE, is_label
from dra_devcluster.api.resources import Object

MUTABLE: Final = frozenset(
    {
        "activeDeadlineSeconds",
        "affinity",
        "containers",
        "initContainers",
        "nodeSelector",
        "schedulingGates",
        "terminationGracePeriodSeconds",
        "tolerations",
    }
)
"""Fields of the spec with a rule of their own; all others never change."""
ONLY_THESE: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only"
    " additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set"
    " to 1 if it was previously negative)"
)


def check_new_pod(pod: Object) -> Iterator[FieldError]:
    """A pod on its way in."""
    spec = pod["spec"]
    if not spec.get("containers"):
        yield required_field("spec.containers")
    for group in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(group, [])):
            yield from _check_container(container, f"spec.{group}[{index}]", spec)
    for index, claim in enumerate(spec.get("resourceClaims", [])):
        yield from _check_pod_claim(claim, f"spec.resourceClaims[{index}]")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        yield forbidden_field("spec.nodeName", "cannot be set until all schedulingGates have been"
                              " cleared")  # fmt: skip


def _check_container(container: Object, field: str, spec: Object) -> Iterator[FieldError]:
    if not container.get("name"):
        yield required_field(f"{field}.name")
    elif not is_label(container["name"]):
        yield invalid_field(f"{field}.name", container["name"], LABEL_RULE)
    if not container.get("image"):
        yield required_field(f"{field}.image")
    known = {claim.get("name") for claim in spec.get("resourceClaims", [])}
    for index, claim in enumerate(container.get("resources", {}).get("claims", [])):
        if claim.get("name") not in known:
            problem = f'Not found: "{claim.get("name")}"'
            where = f"{field}.resources.claims[{index}].name"
            yield FieldError(where, problem, reason="FieldValueNotFound")


def _check_pod_claim(claim: Object, field: str) -> Iterator[FieldError]:
    if not is_label(claim.get("name", "")):
        yield invalid_field(f"{field}.name", claim.get("name", ""), LABEL_RULE)
    if bool(claim.get("resourceClaimName")) == bool(claim.get("resourceClaimTemplateName")):
        why = "must specify exactly one of `resourceClaimName`, `resourceClaimTemplateName`"
        yield invalid_field(field, claim.get("name", ""), why)


def check_pod_change(pod: Object, old: Object) -> Iterator[FieldError]:
    """An update of the main resource against what is stored."""
    spec, before = pod["spec"], old["spec"]
    gated = bool(before.get("schedulingGates"))
    yield from _check_gates(spec, before)
    yield from _check_placement(spec, before, gated=gated)
    kept = spec.get("tolerations", [])
    if any(toleration not in kept for toleration in before.get("tolerations", [])):
        yield forbidden_field("spec.tolerations", "existing toleration can not be modified except"
                              " its tolerationSeconds")  # fmt: skip
    if _frozen_part(spec) != _frozen_part(before):
        yield forbidden_field("spec", ONLY_THESE)


def _check_gates(spec: Object, before: Object) -> Iterator[FieldError]:
    had = {gate["name"] for gate in before.get("schedulingGates", [])}
    for index, gate in enumerate(spec.get("schedulingGates", [])):
        if gate["name"] not in had:
            why = f"only deletion is allowed, but found new scheduling gate '{gate['name']}'"
            yield forbidden_field(f"spec.schedulingGates[{index}].name", why)


def _check_placement(spec: Object, before: Object, *, gated: bool) -> Iterator[FieldError]:
    selector, earlier = spec.get("nodeSelector", {}), before.get("nodeSelector", {})
    if not gated and selector != earlier:
        yield forbidden_field("spec", ONLY_THESE)
    elif not earlier.items() <= selector.items():
        yield invalid_field("spec.nodeSelector", selector, "only additions are allowed")
    affinity, previous = spec.get("affinity", {}), before.get("affinity", {})
    if affinity == previous:
        return
    if not gated or _without_node_terms(affinity) != _without_node_terms(previous):
        yield forbidden_field("spec", ONLY_THESE)
    elif not _only_tightened(_required_terms(affinity), _required_terms(previous)):
        field = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
        yield invalid_field(f"{field}.nodeSelectorTerms", "", "no additions/deletions to non-empty"
                            " NodeSelectorTerms list are allowed")  # fmt: skip


def _required_terms(affinity: Object) -> list[Object]:
    required = affinity.get("nodeAffinity", {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution", {}
    )
    terms: list[Object] = required.get("nodeSelectorTerms", [])
    return terms


def _without_node_terms(affinity: Object) -> Object:
    """The affinity less everything of node affinity, which has its own rule."""
    return {field: value for field, value in affinity.items() if field != "nodeAffinity"}


def _only_tightened(terms: list[Object], before: list[Object]) -> bool:
    if not before:
        return True
    return len(terms) == len(before) and all(
        _contains(term, earlier) for term, earlier in zip(terms, before, strict=True)
    )


def _contains(term: Object, earlier: Object) -> bool:
    return all(
        expression in term.get(group, [])
        for group in ("matchExpressions", "matchFields")
        for expression in earlier.get(group, [])
    )


def _frozen_part(spec: Object) -> Object:
    frozen: dict[str, Any] = {name: value for name, value in spec.items() if name not in MUTABLE}
    for group in ("containers", "initContainers"):
        frozen[group] = [
            {
                name: value
                for name, value in container.items()
                if name not in ("image", "imagePullPolicy")
            }
            for container in spec.get(group, [])
        ]
    return frozen
