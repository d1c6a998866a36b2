"""Versions order the changes of one cluster's life; those of another life are too old."""

from datetime import UTC, datetime, timedelta

import pytest

from dra_devcluster.api.cluster import Cluster
from dra_devcluster.api.errors import ApiError
from dra_devcluster.api.store import Store

BORN = datetime(2026, 1, 1, tzinfo=UTC)


def a_cluster(born: datetime) -> Cluster:
    return Cluster(clock=lambda: born)


def test_a_cluster_that_starts_again_is_ahead_of_its_earlier_life() -> None:
    earlier = a_cluster(BORN).store.revision
    later = a_cluster(BORN + timedelta(seconds=1)).store
    assert later.revision > earlier
    with pytest.raises(ApiError) as refusal:
        list(later.events_after(earlier))
    assert refusal.value.code == 410


def test_a_version_that_is_not_reached_yet_is_no_place_to_watch_from() -> None:
    store = Store(history=10)
    with pytest.raises(ApiError):
        list(store.events_after(store.revision + 1))
    assert list(store.events_after(store.revision)) == []
