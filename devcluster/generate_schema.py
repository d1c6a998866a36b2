"""Writes ``dra_devcluster/api/schema.json``: which fields the kinds we serve have, and of which type.

The names come from the published Kubernetes client, so that nobody types 250 types by hand.
Run ``uv run --no-sync python devcluster/generate_schema.py`` after raising the client's version;
the devcluster itself never imports the client (43 MB).
"""  # noqa: INP001 - a script, in no package

import json
import re
from pathlib import Path
from typing import Any

from kubernetes.client import models

ROOTS = (
    "V1Namespace",
    "V1Node",
    "V1Pod",
    "CoreV1Event",
    "V1Binding",
    "V1DeleteOptions",
    "ResourceV1ResourceClaim",
    "V1ResourceClaimTemplate",
    "V1ResourceSlice",
    "V1DeviceClass",
    "V1DeviceTaintRule",
)
SCALARS = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "datetime": "string",
    "object": "any",
}
QUANTITIES = {
    "CapacityRequirements.requests",
    "CapacityRequestPolicy.default",
    "CapacityRequestPolicy.validValues",
    "CapacityRequestPolicyRange.max",
    "CapacityRequestPolicyRange.min",
    "CapacityRequestPolicyRange.step",
    "ContainerStatus.allocatedResources",
    "Counter.value",
    "DeviceCapacity.value",
    "DeviceRequestAllocationResult.consumedCapacity",
    "NodeStatus.allocatable",
    "NodeStatus.capacity",
    "PodSpec.overhead",
    "PodStatus.allocatedResources",
    "ResourceRequirements.limits",
    "ResourceRequirements.requests",
}
"""Fields the client calls strings, where the server takes a bare number too."""
TARGET = Path(__file__).parent / "dra_devcluster" / "api" / "schema.json"


def kubernetes_name(model: str) -> str:
    """The kind or type name as Kubernetes writes it: ``V1PodSpec`` is ``PodSpec``."""
    renamed = {"CoreV1ResourceClaim": "ContainerResourceClaim"}
    return renamed.get(model) or re.sub(r"^(CoreV1|ResourceV1|V1)", "", model)


def type_word(openapi_type: str, wanted: list[str]) -> str:
    """One word for a type; a list is ``[item``, a map is ``{value``; new models join ``wanted``."""
    if found := re.fullmatch(r"(?:List|list)\[(.*)\]", openapi_type):
        return "[" + type_word(found[1], wanted)
    if found := re.fullmatch(r"(?:Dict|dict)[\[(]str, (.*)[\])]", openapi_type):
        return "{" + type_word(found[1], wanted)
    if openapi_type in SCALARS:
        return SCALARS[openapi_type]
    wanted.append(openapi_type)
    return kubernetes_name(openapi_type)


def schema() -> dict[str, dict[str, str]]:
    """Every type reachable from ``ROOTS``: type name to field name to type word."""
    types: dict[str, dict[str, str]] = {}
    wanted = list(ROOTS)
    while wanted:
        model_name = wanted.pop()
        if kubernetes_name(model_name) in types:
            continue
        types[kubernetes_name(model_name)] = fields_of(model_name, wanted)
    return types


def fields_of(model_name: str, wanted: list[str]) -> dict[str, str]:
    """One type: field name as in manifests to type word."""
    model: Any = getattr(models, model_name)
    fields = {
        model.attribute_map[field]: type_word(word, wanted)
        for field, word in model.openapi_types.items()
    }
    for name, word in fields.items():
        if f"{kubernetes_name(model_name)}.{name}" in QUANTITIES:
            fields[name] = word.replace("string", "quantity")
    return fields


if __name__ == "__main__":
    TARGET.write_text(json.dumps(schema(), indent=0, sort_keys=True) + "\n", encoding="utf-8")
