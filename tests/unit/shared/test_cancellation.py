"""A task that is told to stop stops, also when its result comes at the same moment."""

import asyncio

import pytest

from dra_shared.runtime.cancellation import wait_for


async def test_a_cancellation_is_heard_when_the_result_comes_at_the_same_moment() -> None:
    result: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(wait_for(result, 60))
    await asyncio.sleep(0)
    result.set_result(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_result_in_time_is_returned() -> None:
    assert await wait_for(asyncio.sleep(0, "result"), 60) == "result"
    assert await wait_for(asyncio.sleep(0, "result"), None) == "result"


@pytest.mark.parametrize("seconds", [0, 0.001])
async def test_a_result_that_does_not_come_is_a_timeout_and_given_up(seconds: float) -> None:
    result: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    with pytest.raises(TimeoutError):
        await wait_for(result, seconds)
    assert result.cancelled()
