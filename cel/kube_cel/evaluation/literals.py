"""List and map literals: known values where all parts are, else built anew each time."""

from kube_cel.errors import EvaluationError
from kube_cel.evaluation.calls import failed
from kube_cel.evaluation.frame import Evaluate, Failure, Frame
from kube_cel.evaluation.plan import Plan, charged, constant_plan
from kube_cel.messages import MESSAGES
from kube_cel.syntax import Field, ListLiteral, MapLiteral
from kube_cel.values.maps import map_key
from kube_cel.values.optional import Optional

_LIST_COST = 10
_MAP_COST = 30
_MESSAGE_COST = 40


def plan_list(node: ListLiteral, elements: tuple[Plan, ...]) -> Plan:
    """The plan of a list literal."""
    if not node.optional and all(element.is_constant for element in elements):
        return constant_plan(tuple(element.constant for element in elements))
    runs = tuple(
        (element.run, position in node.optional) for position, element in enumerate(elements)
    )

    def build(frame: Frame) -> object:
        values: list[object] = []
        for run, optional in runs:
            value = run(frame)
            if value.__class__ is Failure:
                return value
            if not optional:
                values.append(value)
            elif not isinstance(value, Optional):
                return Failure(_not_optional())
            elif value.present:
                values.append(value.value)
        return tuple(values)

    return Plan(charged(build, _LIST_COST))


def plan_map(node: MapLiteral, entries: tuple[tuple[Plan, Plan], ...]) -> Plan:
    """The plan of a map literal. Raises ``EvaluationError`` for a constant that is no key."""
    optional = tuple(entry.optional for entry in node.entries)
    if not any(optional) and all(k.is_constant and v.is_constant for k, v in entries):
        return constant_plan({map_key(k.constant): v.constant for k, v in entries})
    runs = tuple((k.run, v.run, o) for (k, v), o in zip(entries, optional, strict=True))

    def build(frame: Frame) -> object:
        result: dict[object, object] = {}
        for key_run, value_run, is_optional in runs:
            key = key_run(frame)
            if key.__class__ is Failure:
                return key
            value = value_run(frame)
            if value.__class__ is Failure:
                return value
            try:
                _put(result, key, value, optional=is_optional)
            except EvaluationError as error:
                return failed(error)
        return result

    return Plan(charged(build, _MAP_COST))


def plan_message(name: str, fields: tuple[Field, ...], runs: list[Evaluate]) -> Plan:
    """The plan of a message literal."""
    make = MESSAGES[name].make
    parts = tuple(zip(fields, runs, strict=True))

    def build(frame: Frame) -> object:
        values: dict[object, object] = {}
        for field, run in parts:
            value = run(frame)
            if value.__class__ is Failure:
                return value
            try:
                _put(values, field.name, value, optional=field.optional)
            except EvaluationError as error:
                return Failure(error)
        try:
            return make(values)
        except EvaluationError as error:
            return Failure(error)

    return Plan(charged(build, _MESSAGE_COST))


def _put(result: dict[object, object], key: object, value: object, *, optional: bool) -> None:
    if not optional:
        result[map_key(key)] = value
    elif not isinstance(value, Optional):
        raise _not_optional()
    elif value.present:
        result[map_key(key)] = value.value
    else:
        result.pop(map_key(key), None)


def _not_optional() -> EvaluationError:
    return EvaluationError("cannot initialize optional entry from non-optional value")
