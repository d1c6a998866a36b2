"""Membership, indexing and size; what an index does at run time is the evaluator's own."""

from typing import Any, Final

from kube_cel.declarations import CallSite, Function, Size
from kube_cel.errors import EvaluationError, NoSuchOverloadError
from kube_cel.library.declare import function, method
from kube_cel.types import BOOL, BYTES, DYN, INT, LIST_A, MAP_AB, STRING, A, B, optional_of
from kube_cel.values.equality import same, size
from kube_cel.values.maps import find_key, map_key
from kube_cel.values.optional import ABSENT


def _in_list(element: object, elements: tuple[object, ...]) -> bool:
    return any(same(element, candidate) for candidate in elements)


def _in_map(key: object, mapping: dict[object, object]) -> bool:
    return find_key(mapping, key) is not ABSENT


def _in_list_cost(_element: object, elements: object) -> int:
    return size(elements)


def _estimate_in_list(site: CallSite) -> tuple[int, Size | None]:
    return site.size(1).high, None


def _index(*_args: object) -> object:
    raise NoSuchOverloadError("_[_]")


def _map_insert(mapping: dict[Any, Any], key: object, value: object) -> dict[Any, Any]:
    stored = map_key(key)
    if stored in mapping:
        raise EvaluationError(f"insert failed: key {key} already exists")
    mapping[stored] = value
    return mapping


def _map_insert_all(mapping: dict[Any, Any], entries: dict[Any, Any]) -> dict[Any, Any]:
    for key, value in entries.items():
        if key in mapping:
            raise EvaluationError(f"insert failed: key {key} already exists")
        mapping[key] = value
    return mapping


_OPTIONAL_LIST: Final = optional_of(LIST_A)
_OPTIONAL_MAP: Final = optional_of(MAP_AB)
_SIZES: Final = (("string", STRING), ("bytes", BYTES), ("list", LIST_A), ("map", MAP_AB))

LIBRARY: Final = (
    Function(
        "@in",
        (
            function(
                "in_list",
                (A, LIST_A),
                BOOL,
                _in_list,
                cost=_in_list_cost,
                estimate=_estimate_in_list,
            ),
            function("in_map", (A, MAP_AB), BOOL, _in_map),
        ),
    ),
    Function(
        "_[_]",
        (
            function("index_list", (LIST_A, INT), A, _index),
            function("index_map", (MAP_AB, A), B, _index),
            function("optional_list_index_int", (_OPTIONAL_LIST, INT), optional_of(A), _index),
            function("optional_map_index_value", (_OPTIONAL_MAP, A), optional_of(B), _index),
        ),
    ),
    Function(
        "_[?_]",
        (
            function("list_optindex_optional_int", (LIST_A, INT), optional_of(A), _index),
            function(
                "optional_list_optindex_optional_int",
                (_OPTIONAL_LIST, INT),
                optional_of(A),
                _index,
            ),
            function("map_optindex_optional_value", (MAP_AB, A), optional_of(B), _index),
            function(
                "optional_map_optindex_optional_value",
                (_OPTIONAL_MAP, A),
                optional_of(B),
                _index,
            ),
        ),
    ),
    Function("_?._", (function("select_optional_field", (DYN, STRING), DYN, _index),)),
    Function(
        "size",
        tuple(function(f"size_{name}", (kind,), INT, len) for name, kind in _SIZES)
        + tuple(method(f"{name}_size", (kind,), INT, len) for name, kind in _SIZES),
    ),
    Function(
        "cel.@mapInsert",
        (
            function("@mapInsert_map_map", (MAP_AB, MAP_AB), MAP_AB, _map_insert_all),
            function("@mapInsert_map_key_value", (MAP_AB, A, B), MAP_AB, _map_insert),
        ),
    ),
)
