"""No fact may be larger than the log takes in one piece: who asks for so much is refused, aloud.

NATS takes 1 MB unless it is told otherwise. A fact that it never takes would stop the allocator, and
with it everybody else.
"""

from typing import Final

from dra_allocator.core.search.outcome import ClaimError, ErrorKind
from dra_shared.events.allocations import ClaimAllocated
from dra_shared.events.fact import MOST_BYTES, size_of
from dra_shared.kube.claims import MAX_RESULTS

PER_RESULT: Final = 4000
"""More bytes than a device and its cost take, but for the most unusual."""


def may_be_too_large(claims: int, configurations: int) -> bool:
    """Whether an allocation of so many claims may not fit. `configurations`: at most so many bytes."""
    return configurations + claims * MAX_RESULTS * PER_RESULT > MOST_BYTES


def check_size(fact: ClaimAllocated) -> None:
    """Raises ClaimError for an allocation that does not fit."""
    results = sum(len(got.costs) for got in fact.claims)
    size = size_of(fact)
    if size > MOST_BYTES:
        raise ClaimError(
            ErrorKind.TOO_LARGE,
            f"what the pod would get has {size} bytes, {results} devices with their configurations; "
            f"at most {MOST_BYTES} can be written down: "
            "let it use fewer claims, or configurations that are smaller",
        )
