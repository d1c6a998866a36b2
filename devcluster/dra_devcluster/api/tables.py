"""What ``kubectl get`` prints: the columns of each kind and how a cell is found.

Only presentation; kubectl asks for it with ``as=Table``. Columns and words are the real server's.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from dra_devcluster.api.podwords import pod_ready, pod_restarts, pod_words
from dra_devcluster.api.resources import (
    CLAIMS,
    CLASSES,
    EVENTS,
    NAMESPACES,
    NODES,
    PODS,
    SLICES,
    TAINT_RULES,
    TEMPLATES,
    Object,
    Resource,
)
from dra_devcluster.api.timestamps import moment

Cell = Callable[[Object, datetime], Any]
Column = tuple[str, Cell]
"""A title, ``-`` before it for one that only ``-o wide`` shows, and its cell."""
ABSENT: Final = "<none>"


class Span(msgspec.Struct, frozen=True):
    """How time spans below a limit are worded: one unit, or two."""

    below: int
    size: int
    letter: str
    finer_size: int = 0
    finer: str = ""


LONG_SPAN: Final = Span(0, 86400, "d")
SPANS: Final = (
    Span(120, 1, "s"),
    Span(600, 60, "m", 1, "s"),
    Span(10_800, 60, "m"),
    Span(28_800, 3600, "h", 60, "m"),
    Span(172_800, 3600, "h"),
    Span(691_200, 86400, "d", 3600, "h"),
)


def age(since: str | None, now: datetime) -> str:
    """A time span as kubectl words it: ``5s``, ``3m20s``, ``2d``."""
    if not since:
        return "<unknown>"
    seconds = max(0, int((now - moment(since)).total_seconds()))
    span = next((span for span in SPANS if seconds < span.below), LONG_SPAN)
    whole, rest = divmod(seconds, span.size)
    finer = rest // span.finer_size if span.finer_size else 0
    return f"{whole}{span.letter}" + (f"{finer}{span.finer}" if finer else "")


def _name(obj: Object, _now: datetime) -> str:
    return str(obj["metadata"]["name"])


def _age(obj: Object, now: datetime) -> str:
    return age(obj["metadata"].get("creationTimestamp"), now)


def _field(path: str, absent: Any = ABSENT) -> Cell:
    def cell(obj: Object, _now: datetime) -> Any:
        value: Any = obj
        for part in path.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        return absent if value in (None, "") else value

    return cell


def _node_status(node: Object, _now: datetime) -> str:
    conditions = node.get("status", {}).get("conditions", [])
    ready = next((entry for entry in conditions if entry["type"] == "Ready"), None)
    words = "Unknown" if ready is None else "Ready" if ready["status"] == "True" else "NotReady"
    return f"{words},SchedulingDisabled" if node["spec"].get("unschedulable") else words


def _node_roles(node: Object, _now: datetime) -> str:
    prefix = "node-role.kubernetes.io/"
    labels = node["metadata"].get("labels", {})
    roles = sorted(label.removeprefix(prefix) for label in labels if label.startswith(prefix))
    return ",".join(roles) or ABSENT


def _node_address(node: Object, _now: datetime) -> str:
    addresses = node.get("status", {}).get("addresses", [])
    internal = (entry["address"] for entry in addresses if entry["type"] == "InternalIP")
    return next(internal, ABSENT)


def _claim_state(claim: Object, _now: datetime) -> str:
    status, deleted = claim.get("status", {}), "deletionTimestamp" in claim["metadata"]
    allocated = "allocation" in status
    states = {
        "deleted": deleted,
        "pending": not allocated and not deleted,
        "allocated": allocated,
        "reserved": allocated and bool(status.get("reservedFor")),
    }
    return ",".join(word for word, holds in states.items() if holds)


def _event_object(event: Object, _now: datetime) -> str:
    subject = event.get("involvedObject", {})
    return f"{subject.get('kind', '').lower()}/{subject.get('name', '')}"


def _event_age(event: Object, now: datetime) -> str:
    return age(event.get("lastTimestamp") or event.get("eventTime"), now)


NAME: Final[Column] = ("Name", _name)
AGE: Final[Column] = ("Age", _age)
COLUMNS: Final[Mapping[Resource, tuple[Column, ...]]] = {
    NAMESPACES: (NAME, ("Status", _field("status.phase")), AGE),
    NODES: (
        NAME,
        ("Status", _node_status),
        ("Roles", _node_roles),
        AGE,
        ("Version", _field("status.nodeInfo.kubeletVersion", "")),
        ("-Internal-IP", _node_address),
        ("-OS-Image", _field("status.nodeInfo.osImage", "<unknown>")),
    ),
    PODS: (
        NAME,
        ("Ready", lambda pod, _: pod_ready(pod)),
        ("Status", lambda pod, _: pod_words(pod)),
        ("Restarts", lambda pod, _: pod_restarts(pod)),
        AGE,
        ("-IP", _field("status.podIP")),
        ("-Node", _field("spec.nodeName")),
        ("-Nominated Node", _field("status.nominatedNodeName")),
        ("-Readiness Gates", _field("spec.readinessGates")),
    ),
    EVENTS: (
        ("Last Seen", _event_age),
        ("Type", _field("type", "")),
        ("Reason", _field("reason", "")),
        ("Object", _event_object),
        ("Message", _field("message", "")),
    ),
    CLAIMS: (NAME, ("State", _claim_state), AGE),
    TEMPLATES: (NAME, AGE),
    SLICES: (
        NAME,
        ("Node", _field("spec.nodeName", "<unset>")),
        ("Driver", _field("spec.driver")),
        ("Pool", _field("spec.pool.name")),
        AGE,
    ),
    CLASSES: (NAME, AGE),
    TAINT_RULES: (NAME, AGE),
}


def table(resource: Resource, objects: list[Object], version: str, now: datetime) -> Object:
    """The objects as a Table, each row with its object's metadata."""
    columns = COLUMNS[resource]
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"resourceVersion": version},
        "columnDefinitions": [_definition(title) for title, _ in columns],
        "rows": [
            {
                "cells": [cell(obj, now) for _, cell in columns],
                "object": {
                    "kind": "PartialObjectMetadata",
                    "apiVersion": "meta.k8s.io/v1",
                    "metadata": obj["metadata"],
                },
            }
            for obj in objects
        ],
    }


def _definition(title: str) -> Object:
    return {
        "name": title.removeprefix("-"),
        "type": "string",
        "format": "name" if title == "Name" else "",
        "description": "",
        "priority": int(title.startswith("-")),
    }
