"""What the three patch formats do to a document."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dra_devcluster.api.errors import ApiError
from dra_devcluster.api.patch import json_patch, merge_patch
from dra_devcluster.api.strategic import strategic_merge_patch

names = st.sampled_from(["a", "b", "c/d", "~e"])
documents = st.recursive(
    st.integers(0, 3) | st.booleans() | st.text("xyz", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
)
objects = st.dictionaries(names, documents, max_size=3)


@given(objects, objects)
def test_a_merge_patch_that_is_the_wanted_object_and_nulls_for_the_rest_gives_it(
    old: dict[str, Any], new: dict[str, Any]
) -> None:
    flat_old = {name: [value] for name, value in old.items()}
    flat_new = {name: [value] for name, value in new.items()}
    nulls = dict.fromkeys(flat_old.keys() - flat_new.keys())
    assert merge_patch(flat_old, {**flat_new, **nulls}) == flat_new


@given(objects, objects)
def test_a_merge_patch_applied_twice_changes_nothing_more(
    document: dict[str, Any], patch: dict[str, Any]
) -> None:
    once = merge_patch(document, patch)
    assert merge_patch(once, patch) == once


@given(objects, objects)
def test_no_patch_touches_the_document_it_is_applied_to(
    document: dict[str, Any], patch: dict[str, Any]
) -> None:
    before = copy.deepcopy(document)
    merge_patch(document, patch)
    strategic_merge_patch(document, patch)
    json_patch(document, [{"op": "add", "path": "/new", "value": patch}])
    assert document == before


@given(objects, names, documents)
def test_what_a_json_patch_adds_it_finds_and_removes(
    document: dict[str, Any], name: str, value: Any
) -> None:
    path = "/" + name.replace("~", "~0").replace("/", "~1")
    added = json_patch(document, [{"op": "add", "path": path, "value": value}])
    assert added[name] == value
    assert json_patch(added, [{"op": "test", "path": path, "value": value}]) == added
    removed = json_patch(added, [{"op": "remove", "path": path}])
    assert removed == {key: one for key, one in document.items() if key != name}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/list/0", "value": "other"},
        {"op": "test", "path": "/none", "value": 1},
        {"op": "remove", "path": "/none"},
        {"op": "remove", "path": "/list/5"},
        {"op": "replace", "path": "/none", "value": 1},
        {"op": "add", "path": "/list/5", "value": 1},
        {"op": "add", "path": "/none/deeper", "value": 1},
        {"op": "add", "path": "/list/0"},
        {"op": "copy", "from": "/none", "path": "/there"},
        {"op": "add", "path": "list", "value": 1},
        {"op": "shuffle", "path": "/list"},
    ],
)
def test_a_json_patch_operation_that_does_not_apply_is_refused(operation: dict[str, Any]) -> None:
    with pytest.raises(ApiError) as refused:
        json_patch({"list": ["one"]}, [operation])
    assert refused.value.code == 422


def test_a_json_patch_inserts_appends_copies_and_moves() -> None:
    patched = json_patch(
        {"list": ["b"], "from": {"x": 1}},
        [
            {"op": "add", "path": "/list/0", "value": "a"},
            {"op": "add", "path": "/list/-", "value": "c"},
            {"op": "copy", "from": "/from/x", "path": "/copied"},
            {"op": "move", "from": "/from", "path": "/moved"},
        ],
    )
    assert patched == {"list": ["a", "b", "c"], "copied": 1, "moved": {"x": 1}}


def test_a_json_patch_that_is_no_list_is_a_bad_request() -> None:
    with pytest.raises(ApiError) as refused:
        json_patch({}, {"op": "test"})
    assert refused.value.code == 400


def containers(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "image": image} for name, image in pairs]


def test_a_strategic_patch_merges_keyed_lists_by_element() -> None:
    old = {"containers": containers(("a", "1"), ("b", "1"))}
    patch = {"containers": [{"name": "b", "image": "2"}, {"name": "c", "image": "1"}]}
    merged = strategic_merge_patch(old, patch)
    assert merged["containers"] == containers(("a", "1"), ("b", "2"), ("c", "1"))


def test_a_strategic_patch_deletes_replaces_and_orders() -> None:
    old = {"containers": containers(("a", "1"), ("b", "1")), "finalizers": ["x", "y"]}
    patch = {
        "$setElementOrder/containers": [{"name": "c"}, {"name": "b"}],
        "containers": [{"name": "a", "$patch": "delete"}, {"name": "c", "image": "1"}],
        "$deleteFromPrimitiveList/finalizers": ["x"],
        "finalizers": ["z"],
    }
    merged = strategic_merge_patch(old, patch)
    assert merged["containers"] == containers(("c", "1"), ("b", "1"))
    assert merged["finalizers"] == ["y", "z"]
    whole = strategic_merge_patch(old, {"containers": [{"$patch": "replace"}, {"name": "d"}]})
    assert whole["containers"] == [{"name": "d"}]


def test_a_strategic_patch_replaces_lists_without_a_key() -> None:
    old = {"tolerations": [{"key": "a"}], "args": ["x"]}
    patch = {"tolerations": [{"key": "b"}], "args": ["y"]}
    assert strategic_merge_patch(old, patch) == patch
