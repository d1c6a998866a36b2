"""How much worse an answer is than the first alternatives that its claims name (KEP-4816).

kube-scheduler scores nodes by it, since the order of alternatives is the user's wish. Here fewer
is better, 0 the best.
"""

from collections.abc import Sequence

from dra_allocator.core.search.outcome import FoundClaim
from dra_shared.kube.claims import ResourceClaim

Ranks = tuple[dict[str, int], ...]
"""Per claim, the rank of each alternative by its name in results, `request/alternative`."""


def choices_in(claims: Sequence[ResourceClaim]) -> Ranks:
    """The ranks of all alternatives that the claims name; empty if they name none."""
    ranks = tuple(
        {
            f"{request.name}/{sub.name}": rank
            for request in claim.spec.devices.requests or ()
            for rank, sub in enumerate(request.first_available or ())
        }
        for claim in claims
    )
    return ranks if any(ranks) else ()


def penalty(choices: Ranks, found: Sequence[FoundClaim]) -> int:
    """The sum of the ranks of all alternatives that were chosen."""
    if not choices:
        return 0
    return sum(
        ranks[name]
        for ranks, claim in zip(choices, found, strict=True)
        for name in {result.request for result in claim.allocation.devices.results or ()}
        if name in ranks
    )
