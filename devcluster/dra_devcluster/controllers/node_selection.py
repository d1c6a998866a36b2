"""Whether a node is selected, by labels, by name or by the taints a pod tolerates. Pure."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from dra_devcluster.api.resources import Object

HARD_EFFECTS: Final = ("NoSchedule", "NoExecute")


def _as_number(text: str | None) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError:
        return None


def _greater(value: str | None, bound: str | None) -> bool:
    found, limit = _as_number(value), _as_number(bound)
    return found is not None and limit is not None and found > limit


OPERATORS: Final[Mapping[str, Callable[[str | None, list[str]], bool]]] = {
    "In": lambda value, values: value in values,
    "NotIn": lambda value, values: value not in values,
    "Exists": lambda value, _: value is not None,
    "DoesNotExist": lambda value, _: value is None,
    "Gt": lambda value, values: _greater(value, values[0]),
    "Lt": lambda value, values: _greater(values[0], value),
}


def matches_selector(node: Object, selector: Object) -> bool:
    """A NodeSelector: any of its terms, all of a term's requirements; an empty term is none."""
    return any(_matches_term(node, term) for term in selector.get("nodeSelectorTerms", []))


def _matches_term(node: Object, term: Object) -> bool:
    labels = node["metadata"].get("labels", {})
    fields = {"metadata.name": node["metadata"]["name"]}
    wanted = [(labels, one) for one in term.get("matchExpressions", [])]
    wanted += [(fields, one) for one in term.get("matchFields", [])]
    return bool(wanted) and all(
        OPERATORS[one["operator"]](known.get(one["key"]), one.get("values", []))
        for known, one in wanted
    )


def is_wanted_by(node: Object, pod: Object) -> bool:
    """The pod's nodeSelector and required node affinity."""
    spec = pod["spec"]
    labels = node["metadata"].get("labels", {})
    affinity = spec.get("affinity", {}).get("nodeAffinity", {})
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    by_labels = spec.get("nodeSelector", {}).items() <= labels.items()
    return by_labels and (required is None or matches_selector(node, required))


def untolerated_taint(node: Object, pod: Object) -> Any:
    """The first taint that keeps the pod away, or None."""
    tolerations = pod["spec"].get("tolerations", [])
    for taint in node["spec"].get("taints", []):
        if taint["effect"] in HARD_EFFECTS and not any(
            _tolerates(toleration, taint) for toleration in tolerations
        ):
            return taint
    return None


def _tolerates(toleration: Object, taint: Object) -> bool:
    if toleration.get("effect", "") not in ("", taint["effect"]):
        return False
    if toleration.get("key", "") not in ("", taint["key"]):
        return False
    exists = toleration.get("operator") == "Exists"
    return exists or toleration.get("value", "") == taint.get("value", "")
