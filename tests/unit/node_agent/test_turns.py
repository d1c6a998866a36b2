"""Turns: one thing after the other for each key, many keys at once, nothing lost with its caller."""

import asyncio

import pytest
from waiting import until

from dra_node_agent.edge.turns import StillBusyError, Turns


async def test_work_of_one_key_runs_in_the_order_in_which_it_came() -> None:
    turns, order = Turns(), list[int]()

    async def work(number: int) -> int:
        await asyncio.sleep(0)
        order.append(number)
        return number

    calls = [turns.take("k", lambda n=n: work(n), 5) for n in range(20)]  # type: ignore[misc] # the default binds n
    assert await asyncio.gather(*calls) == order == list(range(20))


async def test_a_blocked_key_holds_up_no_other() -> None:
    turns, gate = Turns(), asyncio.Event()
    blocked = asyncio.create_task(turns.take("a", gate.wait, 5))
    await asyncio.sleep(0)

    async def work() -> str:
        return "done"

    assert await turns.take("b", work, 1) == "done"
    gate.set()
    assert await blocked


async def test_work_goes_on_when_its_caller_stops_waiting() -> None:
    turns, gate, done = Turns(), asyncio.Event(), list[str]()

    async def work() -> None:
        await gate.wait()
        done.append("once")

    with pytest.raises(StillBusyError):
        await turns.take("k", work, 0.01)
    cancelled = asyncio.create_task(turns.take("k", work, 5))
    await asyncio.sleep(0)
    cancelled.cancel()
    gate.set()

    async def both_done() -> bool:
        return len(done) == 2

    await until(both_done, "both jobs ended")


async def test_work_that_ends_in_a_fault_of_ours_breaks_the_agent() -> None:
    turns = Turns()

    async def work() -> None:
        raise ZeroDivisionError

    turns.begin("k", work)
    with pytest.raises(ZeroDivisionError):
        await asyncio.wait_for(turns.broken, 1)


async def test_settling_waits_for_work_and_stops_what_does_not_end() -> None:
    turns, done = Turns(), list[str]()

    async def work() -> None:
        await asyncio.sleep(0)
        done.append("work")

    turns.begin("a", work)
    turns.begin("b", asyncio.Event().wait)
    await turns.settle(0.05)
    assert done == ["work"]
