"""The work queue: deduplication, back-off and delays."""

import asyncio

import pytest

from inkube.controllers.workqueue import Backoff, WorkQueue


@pytest.fixture
async def queue(clock):
    made = WorkQueue(clock, backoff=Backoff(first=2.0, longest=10.0))
    task = asyncio.create_task(made.run())
    yield made
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def turn():
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_key_added_twice_is_taken_once(queue):
    queue.add("a")
    queue.add("a")
    assert await queue.get() == "a"
    queue.done("a")
    assert queue.is_idle


async def test_what_a_key_is_added_for_before_its_work_begins_is_seen_by_that_work(queue):
    queue.add("a")
    await queue.get()
    queue.add("a")
    queue.start("a")
    queue.done("a")
    assert queue.is_idle


async def test_a_key_added_while_it_is_worked_on_is_taken_again_afterwards(queue):
    queue.add("a")
    await queue.get()
    queue.add("a")
    queue.add("b")
    assert await queue.get() == "b"
    queue.done("a")
    assert await queue.get() == "a"


async def test_a_worker_takes_a_key_that_waits_without_waiting_for_one(queue):
    assert queue.get_nowait() is None
    queue.add("a")
    assert queue.get_nowait() == "a"
    assert not queue.is_idle
    queue.done("a")
    assert queue.get_nowait() is None
    assert queue.is_idle


async def test_a_key_that_another_worker_took_is_not_given_to_one_that_waits(queue):
    waiting = asyncio.create_task(queue.get())
    await turn()
    queue.add("a")
    assert queue.get_nowait() == "a"
    await turn()
    queue.add("b")
    assert await waiting == "b"


async def test_failures_double_the_delay_up_to_the_longest(queue):
    assert [queue.retry("a") for _ in range(4)] == [2.0, 4.0, 8.0, 10.0]
    queue.forget("a")
    assert queue.retry("a") == 2.0


async def test_a_delayed_key_comes_when_the_clock_reaches_it(queue, clock):
    queue.add_after("a", 30)
    await turn()
    clock.advance(29)
    await turn()
    assert len(queue) == 0
    clock.advance(1)
    await turn()
    assert await queue.get() == "a"


async def test_the_earliest_of_several_delays_counts_and_only_that(queue, clock):
    for seconds in (30, 10, 20):
        queue.add_after("a", seconds)
    await turn()
    clock.advance(10)
    await turn()
    queue.done(await queue.get())
    clock.advance(60)
    await turn()
    assert len(queue) == 0


async def test_work_done_early_cancels_the_delayed_add(queue, clock):
    queue.add_after("a", 30)
    queue.add("a")
    queue.done(await queue.get())
    await turn()
    clock.advance(31)
    await turn()
    assert len(queue) == 0


async def test_long_delays_do_not_keep_the_queue_from_being_idle(queue):
    queue.add_after("a", 300)
    assert queue.is_idle
    queue.add("b")
    assert not queue.is_idle


async def test_a_short_retry_counts_as_work(clock):
    queue = WorkQueue(clock)
    queue.retry("a")
    assert not queue.is_idle


async def test_many_postponements_leave_a_small_heap(queue):
    for number in range(1000):
        queue.add_after("a", 2000 - number)
    assert len(queue._heap) < 100
