"""Builders for the CEL tests: one device, one environment, and what a text makes of them."""

from collections.abc import Mapping
from typing import Any

from kube_cel import CompileError, Device, Environment, EvaluationError, Outcome, device_from

STORED = Environment()
NEW = Environment(stored=False)

GPU_ATTRIBUTES: Mapping[str, Mapping[str, Any]] = {
    "model": {"string": "H100"},
    "index": {"int": 3},
    "healthy": {"bool": True},
    "driverVersion": {"version": "550.54.15"},
    "numa": {"ints": [0, 1]},
    "resource.kubernetes.io/pcieRoot": {"string": "pci0000:3a"},
}
GPU_CAPACITY: Mapping[str, Mapping[str, str]] = {
    "memory": {"value": "80Gi"},
    "cores": {"value": "7"},
}


def a_device(
    driver: str = "gpu.example.com",
    attributes: Mapping[str, Mapping[str, Any]] = GPU_ATTRIBUTES,
    capacity: Mapping[str, Mapping[str, str]] = GPU_CAPACITY,
    *,
    shareable: bool | None = None,
) -> Device:
    return device_from(driver, attributes, capacity, allow_multiple_allocations=shareable)


def evaluated(
    text: str, device: Device | None = None, environment: Environment = STORED
) -> Outcome:
    return environment.compile(text, result="any").evaluate(device or a_device())


def value_of(text: str, device: Device | None = None) -> object:
    return evaluated(text, device).value


def cost_of(text: str, device: Device | None = None) -> int:
    """What the evaluation cost, also if it ended in an error."""
    try:
        return evaluated(text, device).cost
    except EvaluationError as error:
        return error.cost


def refusal_of(text: str, environment: Environment = STORED) -> CompileError | None:
    """Why an expression does not compile, None if it does."""
    try:
        environment.compile(text)
    except CompileError as error:
        return error
    return None


def error_of(text: str, device: Device | None = None) -> EvaluationError | None:
    """Why an expression has no value, None if it has one."""
    try:
        evaluated(text, device)
    except EvaluationError as error:
        return error
    return None
