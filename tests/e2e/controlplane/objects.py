"""Kubernetes objects as tests and benchmarks need them: small, complete, plain mappings."""

from collections.abc import Mapping, Sequence
from typing import Any

DRIVER = "gpu.example.com"
Json = Mapping[str, Any]


def a_node(name: str, capacity: Mapping[str, str], labels: Mapping[str, str]) -> Json:
    """A node that reports Ready, with all its capacity allocatable."""
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}},
        "status": {
            "capacity": capacity,
            "allocatable": capacity,
            "conditions": [{"type": "Ready", "status": "True", "reason": "ObjectOnly"}],
        },
    }


def a_class(name: str = DRIVER, driver: str = DRIVER) -> Json:
    """A device class: every device of one driver."""
    selector = {"cel": {"expression": f"device.driver == '{driver}'"}}
    return {"metadata": {"name": name}, "spec": {"selectors": [selector]}}


def a_slice(node: str, devices: int, driver: str = DRIVER) -> Json:
    """All devices of a node in one slice, whose pool has the node's name."""
    return {
        "metadata": {"name": f"{node}-{driver}"},
        "spec": {
            "driver": driver,
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": f"gpu-{index}"} for index in range(devices)],
        },
    }


def a_claim_spec(device_class: str = DRIVER) -> Json:
    """One device of a class, by a request named `gpu`."""
    return {
        "devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": device_class}}]}
    }


def a_claim(name: str, **metadata: object) -> Json:
    """A standalone claim for one device."""
    return {"metadata": {"name": name, **metadata}, "spec": a_claim_spec()}


def a_claim_template(name: str) -> Json:
    """A template of claims for one device each."""
    return {"metadata": {"name": name}, "spec": {"spec": a_claim_spec()}}


def a_pod(name: str, claims: Sequence[Json] = (), **spec: object) -> Json:
    """A pod with one container, asking for `claims` (entries of `spec.resourceClaims`)."""
    container = {
        "name": "main",
        "image": "registry.invalid/none",
        "resources": {
            "requests": {"cpu": "100m"},
            "claims": [{"name": claim["name"]} for claim in claims],
        },
    }
    body = {"containers": [container], "terminationGracePeriodSeconds": 0, **spec}
    return {"metadata": {"name": name}, "spec": {**body, "resourceClaims": list(claims)}}


def an_allocation(node: str, device: str, at: str, driver: str = DRIVER) -> Json:
    """`status.allocation` that gives the request `gpu` one device of a node's pool.

    `at` is the allocation's time (RFC 3339). The node selector has the exact shape Kubernetes
    gives to one node.
    """
    term = {"key": "metadata.name", "operator": "In", "values": [node]}
    result = {"request": "gpu", "driver": driver, "pool": node, "device": device}
    return {
        "allocationTimestamp": at,
        "devices": {"results": [result]},
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [term]}]},
    }


def from_claim(name: str, claim: str) -> Json:
    """An entry of a pod's `resourceClaims`: a standalone claim."""
    return {"name": name, "resourceClaimName": claim}


def from_template(name: str, template: str) -> Json:
    """An entry of a pod's `resourceClaims`: a claim of the pod's own, made from a template."""
    return {"name": name, "resourceClaimTemplateName": template}
