"""What a search can answer. "Cannot" is a value here, and so is a claim that means nothing.

A `ClaimError` is no fault of ours: the claim, a class or a slice is written so that upstream
would give up on the whole pod. Its kind lets the caller decide to pass over just this node.
"""

from enum import StrEnum

import msgspec

from dra_shared.events.allocations import Cost, Reason
from dra_shared.kube.claims import AllocationResult


class ErrorKind(StrEnum):
    """What is wrong. Those of `ON_THIS_NODE` depend on what the node's pools hold."""

    FEATURE_OFF = "feature_off"
    MALFORMED = "malformed"
    CLASS_MISSING = "class_missing"
    TOO_MANY_DEVICES = "too_many_devices"
    TOO_LARGE = "too_large"
    SELECTOR = "selector"
    DERIVED_ATTRIBUTE = "derived_attribute"
    CAPACITY = "capacity"
    CONSTRAINT = "constraint"
    POOL_INCOMPLETE = "pool_incomplete"
    POOL_INVALID = "pool_invalid"
    NODE_SELECTOR = "node_selector"


ON_THIS_NODE = frozenset(
    {
        ErrorKind.SELECTOR,
        ErrorKind.DERIVED_ATTRIBUTE,
        ErrorKind.CAPACITY,
        ErrorKind.CONSTRAINT,
        ErrorKind.POOL_INCOMPLETE,
        ErrorKind.POOL_INVALID,
        ErrorKind.NODE_SELECTOR,
    }
)
"""Errors that another node may not have; the others are the same everywhere."""


class ClaimError(Exception):
    """The claims cannot be decided here as they are written; the message names the culprit."""

    def __init__(self, kind: ErrorKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


class FoundClaim(msgspec.Struct, frozen=True, kw_only=True):
    """What one claim gets, without a timestamp, and what each result costs, in the same order."""

    allocation: AllocationResult
    costs: tuple[Cost, ...]


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """The first complete solution, per claim in their order. `steps`: slots that were tried."""

    claims: tuple[FoundClaim, ...]
    steps: int = 0


class NotFound(msgspec.Struct, frozen=True, kw_only=True):
    """There is no solution on this node. `why.explain` says why.

    `invalid_pools`: pools of the node were left out because they are invalid, so that upstream
    would call this an error of the node.
    """

    steps: int = 0
    invalid_pools: bool = False


class SearchLimit(msgspec.Struct, frozen=True, kw_only=True):
    """The budget of steps was used up before the search knew."""

    steps: int


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """Why there was no solution: `reasons` count `devices`, all that the node's pools hold."""

    reasons: tuple[Reason, ...]
    devices: int


Outcome = Found | NotFound | SearchLimit
