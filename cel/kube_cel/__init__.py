"""
CEL as Kubernetes speaks it in DRA's device selectors. Knows nothing of this project.

An ``Environment`` compiles text to a ``Program``; a program says whether a ``Device``
matches, what that cost, what it can cost at most, and what it reads.
"""

from kube_cel.device import Device, device_from
from kube_cel.environment import Environment
from kube_cel.errors import (
    CompileError,
    CompileErrorKind,
    CostExceededError,
    DeadlineExceededError,
    EvaluationError,
    NoSuchKeyError,
    NoSuchOverloadError,
    NotBooleanError,
    WorkExceededError,
)
from kube_cel.program import Outcome, Program
from kube_cel.values.quantity import Quantity, parse_quantity
from kube_cel.values.semver import Semver, parse_semver

__all__ = [
    "CompileError",
    "CompileErrorKind",
    "CostExceededError",
    "DeadlineExceededError",
    "Device",
    "Environment",
    "EvaluationError",
    "NoSuchKeyError",
    "NoSuchOverloadError",
    "NotBooleanError",
    "Outcome",
    "Program",
    "Quantity",
    "Semver",
    "WorkExceededError",
    "device_from",
    "parse_quantity",
    "parse_semver",
]
