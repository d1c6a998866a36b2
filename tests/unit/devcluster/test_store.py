"""Revisions, history and followers of the store."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dra_devcluster.api.errors import ApiError
from dra_devcluster.api.resources import CLASSES, Key, Object
from dra_devcluster.api.store import Change, Store


def an_object(name: str, value: int = 0) -> Object:
    return {"metadata": {"name": name}, "spec": {"value": value}}


changes = st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=30)


def replayed(store: Store, since: int) -> dict[str, Object]:
    """What the events since a revision add up to."""
    state: dict[str, Object] = {}
    for event in store.events_after(since):
        name = event.after["metadata"]["name"]
        assert (event.before is None) is (name not in state)
        if event.change is Change.DELETED:
            del state[name]
        else:
            state[name] = event.after
    return state


@given(changes)
def test_the_history_from_the_start_adds_up_to_what_is_stored(
    wanted: list[tuple[str, bool]],
) -> None:
    store = Store(history=100)
    start = store.revision
    for name, keep in wanted:
        if keep:
            store.put(CLASSES, an_object(name))
        elif store.get(CLASSES, Key("", name)):
            store.remove(CLASSES, Key("", name))
    stored = {obj["metadata"]["name"]: obj for obj in store.scan(CLASSES)}
    assert replayed(store, start) == stored


@given(st.integers(1, 5), st.integers(0, 12))
def test_the_history_reaches_back_as_far_as_it_says(limit: int, writes: int) -> None:
    store = Store(history=limit)
    start = store.revision
    for number in range(writes):
        store.put(CLASSES, an_object("a", number))
    if writes > limit:
        with pytest.raises(ApiError) as refused:
            list(store.events_after(start))
        assert refused.value.code == 410
    reachable = store.revision - min(limit, writes)
    assert len(list(store.events_after(reachable))) == min(limit, writes)


async def test_who_waits_is_woken_by_the_next_change() -> None:
    store = Store(history=10)
    start = store.revision
    waiting = asyncio.ensure_future(store.wait_beyond(start))
    await asyncio.sleep(0)
    stored = store.put(CLASSES, an_object("a"))
    await waiting
    (event,) = store.events_after(start)
    assert (event.change, event.after) == (Change.ADDED, stored)
