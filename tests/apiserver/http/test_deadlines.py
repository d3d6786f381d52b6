"""Time limits that share a timer behave as `asyncio.timeout` does."""

import asyncio

import pytest

from inkube.apiserver.http.deadlines import Deadlines


def this_task() -> "asyncio.Task[None]":
    task = asyncio.current_task()
    assert task is not None
    return task


async def test_what_takes_too_long_is_timed_out() -> None:
    deadlines = Deadlines(0.01)
    with pytest.raises(TimeoutError), deadlines.limit(this_task()):
        await asyncio.Event().wait()
    assert this_task().cancelling() == 0


async def test_each_block_has_its_own_time() -> None:
    deadlines = Deadlines(0.02)
    loop = asyncio.get_running_loop()

    async def late() -> float:
        began = loop.time()
        with pytest.raises(TimeoutError), deadlines.limit(this_task()):
            await asyncio.Event().wait()
        return loop.time() - began

    first = asyncio.create_task(late())
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await asyncio.Event().wait()
    second = asyncio.create_task(late())
    found = await asyncio.gather(first, second)
    assert all(seconds >= 0.02 for seconds in found)


async def test_what_ends_in_time_is_left_alone() -> None:
    deadlines = Deadlines(0.01)
    with deadlines.limit(this_task()):
        pass
    with pytest.raises(TimeoutError), deadlines.limit(this_task()):
        await asyncio.Event().wait()


async def test_an_error_of_the_block_passes() -> None:
    with pytest.raises(ValueError, match="mine"), Deadlines(1).limit(this_task()):
        raise ValueError("mine")


async def test_a_cancellation_from_outside_stays_one() -> None:
    deadlines, begun = Deadlines(60), asyncio.Event()

    async def work() -> None:
        with deadlines.limit(this_task()):
            begun.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_closed_deadlines_leave_no_timer() -> None:
    deadlines = Deadlines(0.005)
    with deadlines.limit(this_task()):
        deadlines.close()
        # twice its time passes without a timeout
        loop = asyncio.get_running_loop()
        passed = loop.create_future()
        loop.call_later(0.01, passed.set_result, None)
        await passed
    assert not this_task().cancelling()
