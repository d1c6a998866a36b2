"""Selectors of objects, and whether pods fit and may go to nodes."""

from typing import Any

import pytest

from dra_devcluster.api.errors import ApiError
from dra_devcluster.api.selectors import field_selector, label_selector
from dra_devcluster.controllers.fit import Amounts, allocatable, requested, shortages
from dra_devcluster.controllers.node_selection import (
    is_wanted_by,
    matches_selector,
    untolerated_taint,
)


def labelled(**labels: str) -> dict[str, Any]:
    return {"metadata": {"name": "one", "namespace": "here", "labels": labels}}


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        ("", True),
        ("a=1", True),
        ("a==1", True),
        ("a=2", False),
        ("a!=2", True),
        ("b!=2", True),
        ("a", True),
        ("!a", False),
        ("!b", True),
        ("a in (1, 2)", True),
        ("a notin (1, 2)", False),
        ("b notin (1)", True),
        ("a in (1,2),b=2", False),
    ],
)
def test_label_selectors_select_as_kubernetes_says(selector: str, selected: bool) -> None:  # noqa: FBT001 - a table
    assert label_selector(selector)(labelled(a="1")) is selected


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        ("metadata.name=one", True),
        ("metadata.name!=one", False),
        ("metadata.name=one,metadata.namespace=there", False),
        ("spec.nodeName=", True),
    ],
)
def test_field_selectors_compare_text(selector: str, selected: bool) -> None:  # noqa: FBT001 - a table
    assert field_selector(selector, "Pod")(labelled()) is selected


@pytest.mark.parametrize("selector", ["spec.colour=red", "metadata.name"])
def test_a_field_selector_nobody_knows_is_a_bad_request(selector: str) -> None:
    with pytest.raises(ApiError) as refused:
        field_selector(selector, "Pod")
    assert refused.value.code == 400


def a_node(name: str = "n1", **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": labels}, "spec": {}}


@pytest.mark.parametrize(
    ("operator", "values", "matches"),
    [
        ("In", ["a", "b"], True),
        ("NotIn", ["a"], False),
        ("Exists", [], True),
        ("DoesNotExist", [], False),
        ("Gt", ["1"], False),
    ],
)
def test_node_selector_operators(operator: str, values: list[str], matches: bool) -> None:  # noqa: FBT001 - a table
    requirement = {"key": "zone", "operator": operator, "values": values}
    selector = {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}
    assert matches_selector(a_node(zone="a"), selector) is matches


def test_numbers_are_compared_as_numbers() -> None:
    for operator, bound, matches in (("Gt", "9", True), ("Lt", "9", False), ("Lt", "11", True)):
        requirement = {"key": "size", "operator": operator, "values": [bound]}
        selector = {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}
        assert matches_selector(a_node(size="10"), selector) is matches


def test_an_empty_term_selects_no_node() -> None:
    assert not matches_selector(a_node(), {"nodeSelectorTerms": [{}]})


def test_a_pod_wants_nodes_by_labels_and_by_affinity() -> None:
    field = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    pod = {"spec": {"nodeSelector": {"a": "b"}, "affinity": affinity}}
    assert is_wanted_by(a_node(a="b"), pod)
    assert not is_wanted_by(a_node(a="c"), pod)
    assert not is_wanted_by(a_node("n2", a="b"), pod)


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        ({"operator": "Exists"}, True),
        ({"key": "k", "operator": "Exists"}, True),
        ({"key": "k", "value": "v", "effect": "NoSchedule"}, True),
        ({"key": "k", "value": "w"}, False),
        ({"key": "k", "value": "v", "effect": "NoExecute"}, False),
        ({"key": "other", "operator": "Exists"}, False),
    ],
)
def test_tolerations_bear_the_taints_they_name(toleration: dict[str, str], tolerated: bool) -> None:  # noqa: FBT001 - a table
    node = {"spec": {"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}}
    pod = {"spec": {"tolerations": [toleration]}}
    assert (untolerated_taint(node, pod) is None) is tolerated


def a_pod(cpu: str, initial: str = "0") -> dict[str, Any]:
    def container(amount: str) -> dict[str, Any]:
        return {"resources": {"requests": {"cpu": amount, "memory": "1Gi"}}}

    spec = {"containers": [container(cpu), container(cpu)], "initContainers": [container(initial)]}
    return {"spec": spec}


def test_a_pod_asks_for_its_containers_or_its_largest_init_container() -> None:
    assert requested(a_pod("500m")) == Amounts(1000, 2 * 2**30, 1)
    assert requested(a_pod("500m", initial="3")).cpu == 3000


def test_a_node_is_short_of_what_is_asked_beyond_its_size() -> None:
    node = allocatable({"status": {"allocatable": {"cpu": "2", "memory": "3Gi", "pods": "1"}}})
    pod = requested(a_pod("500m"))
    assert shortages(pod, node, []) == []
    assert shortages(pod, node, [Amounts(1500, 0, 0)]) == ["Insufficient cpu"]
    assert shortages(pod, node, [pod]) == ["Too many pods", "Insufficient memory"]
