"""One log line and one count for each decision. Decides nothing."""

from collections.abc import Mapping
from typing import Final

import structlog
from prometheus_client import Counter, Gauge, Histogram

from dra_allocator.core.books.cards import Card
from dra_shared.events.allocations import (
    AllocationAdopted,
    ClaimAllocated,
    ClaimReleased,
    ClaimUnsatisfiable,
    of_results,
)
from dra_shared.events.envelope import Envelope
from dra_shared.ids import DeviceId

DECISIONS: Final = Counter("dra_decisions_total", "Decisions by what came of them", ["outcome"])
DECISION_SECONDS: Final = Histogram(
    "dra_decision_seconds",
    "Time to decide one pod, or to settle one claim",
    buckets=(0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3),
)
WAITING: Final = Gauge("dra_pods_waiting", "Pods without a place")
TWICE: Final = Gauge("dra_cards_published_twice", "Cards that several drivers give away")
LAG: Final = Gauge("dra_log_lag_seconds", "Age of the newest event when it was read")

_log = structlog.get_logger()


def tell_cards(twice: Mapping[Card, tuple[DeviceId, ...]], known: set[Card]) -> None:
    """Counts the cards that several drivers publish; warns of each once, as long as it is so."""
    TWICE.set(len(twice))
    known.intersection_update(twice)
    for card in sorted(twice.keys() - known):
        devices = [str(device) for device in twice[card]]
        _log.warning("card published twice", node=card.node, bus_id=card.bus_id, devices=devices)
        known.add(card)


def tell(envelope: Envelope, seconds: float) -> None:
    """Logs and counts one decision."""
    about = _log.bind(cause=envelope.cause, ms=round(seconds * 1000, 3))
    match envelope.fact:
        case ClaimAllocated() as fact:
            DECISIONS.labels(outcome="allocated").inc()
            results = sum(len(of_results(got.costs)) for got in fact.claims)
            about.info("pod placed", pod=str(fact.pod), node=fact.node, devices=results)
        case ClaimUnsatisfiable() as fact:
            DECISIONS.labels(outcome=fact.refusal).inc()
            about.info("pod not placed", pod=str(fact.pod), refusal=fact.refusal, why=fact.summary)
        case ClaimReleased() as fact:
            DECISIONS.labels(outcome="released").inc()
            about.info("claim released", claim=str(fact.claim), node=fact.node, reason=fact.reason)
        case AllocationAdopted() as fact:
            DECISIONS.labels(outcome="adopted").inc()
            conflicts = [str(device) for device in fact.conflicts]
            level = about.error if conflicts else about.info
            level("allocation adopted", claim=str(fact.claim), node=fact.node, conflicts=conflicts)
        case _:
            pass
