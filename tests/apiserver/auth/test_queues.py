"""Seats and queues of priority levels: a model of random requests, and each rule alone."""

import asyncio
import contextlib
import random

import pytest

from inkube.apiserver.auth.queues import Pool, Usage
from inkube.apiserver.samples import Samples
from inkube.schemas.status import StatusError

pytestmark = pytest.mark.asyncio
LONG = 60.0


def level(name, shares, *, queues=0, hand=1, length=50, lends=0, borrows=None, kind="Limited"):
    response = {"type": "Reject"}
    if queues:
        queuing = {"queues": queues, "handSize": hand, "queueLengthLimit": length}
        response = {"type": "Queue", "queuing": queuing}
    limits = {"nominalConcurrencyShares": shares, "lendablePercent": lends}
    if kind == "Limited":
        limits["limitResponse"] = response
    if borrows is not None:
        limits["borrowingLimitPercent"] = borrows
    metadata = {"name": name, "uid": f"uid-{name}"}
    return {"metadata": metadata, "spec": {"type": kind, kind.lower(): limits}}


def pool_of(size, *levels):
    pool = Pool(size, Samples())
    pool.configure(levels)
    return pool


async def waiting(one, flow, usage=None):
    """Return a task that waits for a seat, as soon as it is in a queue."""
    task = asyncio.create_task(one.wait(one.hand(flow), usage or Usage(), 1, LONG))
    await asyncio.sleep(0)
    return task


async def test_seats_are_shared_by_shares_and_rounded_up():
    pool = pool_of(10, level("a", 30), level("b", 10), level("free", 0, kind="Exempt"))
    assert {name: one.nominal for name, one in pool.levels.items()} == {"a": 8, "b": 3, "free": 0}
    assert pool.levels["free"].is_exempt


async def test_a_level_without_queues_refuses_what_has_no_seat():
    one = pool_of(1, level("a", 1, borrows=0)).levels["a"]
    usage = Usage()
    assert one.take()
    assert not one.take()
    with pytest.raises(StatusError) as refused:
        await one.wait(one.hand("x"), usage, 1, LONG)
    assert (refused.value.code, usage.refusals) == (429, {"concurrency-limit": 1})
    one.release(1)
    assert one.take()


async def test_a_queue_is_bounded_in_length_and_in_time():
    one = pool_of(1, level("a", 1, queues=1, length=2)).levels["a"]
    usage = Usage()
    assert one.take()
    tasks = [await waiting(one, "x", usage) for _ in range(2)]
    with pytest.raises(StatusError):
        await one.wait(one.hand("x"), usage, 1, LONG)
    tasks.pop().cancel()
    await asyncio.sleep(0)
    with pytest.raises(StatusError):
        await one.wait(one.hand("x"), usage, 1, 0.0)
    assert usage.refusals == {"queue-full": 1, "time-out": 1}
    assert (one.waiting, usage.waiting) == (1, 1)
    one.release(1)
    assert await tasks[0] == 1
    assert (one.waiting, usage.waiting, one.used) == (0, 0, 1)


async def test_seats_of_requests_that_have_ended_are_room_for_others_in_the_same_turn():
    """As many requests as seats and places wait or run, whatever ran before (dispatch)."""
    one = pool_of(5, level("a", 1, queues=1, length=10)).levels["a"]
    usage = Usage()
    for _ in range(one.batch):
        assert one.take()
        one.release(1)
    assert one.spent == one.batch > 0
    running = sum(one.take() for _ in range(15))
    tasks = [await waiting(one, "x", usage) for _ in range(15 - running)]
    one.release(running)
    for task in tasks:
        await task
        one.release(1)
    assert usage.refusals == {}


async def test_a_flow_with_many_requests_does_not_delay_another():
    one = pool_of(1, level("a", 1, queues=64, hand=4)).levels["a"]
    assert one.take()
    elephants = [await waiting(one, "elephant") for _ in range(100)]
    mouse = await waiting(one, "mouse")
    for _ in range(8):  # at most one turn for each queue of the elephant, and its own
        if mouse.done():
            break
        one.release(1)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    assert mouse.done()
    for task in elephants:
        task.cancel()
    await asyncio.gather(*elephants, return_exceptions=True)


async def test_seats_are_borrowed_up_to_a_limit_and_given_back():
    pool = pool_of(
        10, level("a", 5, borrows=40), level("b", 5, lends=80, queues=1), level("c", 0, borrows=0)
    )
    a, b = pool.levels["a"], pool.levels["b"]
    assert sum(a.take() for _ in range(20)) == 7  # 5 of its own, and 40 %
    assert (a.upper, b.lower) == (7, 1)
    assert sum(b.take() for _ in range(20)) == 5, "its own seats, also the lent ones"
    task = await waiting(b, "x")
    a.release(1)
    await asyncio.sleep(0)
    assert not task.done(), "the seat was borrowed"
    b.release(1)
    assert await task == 1
    assert pool.levels["c"].take(), "a request that is alone always runs"
    assert not pool.levels["c"].take()


async def test_a_seat_whose_request_was_cancelled_at_once_is_free_again():
    one = pool_of(1, level("a", 1, queues=1)).levels["a"]
    assert one.take()
    task = await waiting(one, "x")
    one.release(1)
    await asyncio.sleep(0)  # the seat is the task's, which has not run yet
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (one.busy, one.waiting) == (0, 0)


async def test_shuffle_sharding_selects_distinct_queues():
    one = pool_of(1, level("a", 1, queues=16, hand=6)).levels["a"]
    hands = [tuple(one.hand(f"flow-{number}")) for number in range(200)]
    assert all(len(set(hand)) == 6 and set(hand) <= set(range(16)) for hand in hands)
    assert len(set(hands)) > 190


@pytest.mark.parametrize("seed", range(8))
async def test_no_seat_of_a_priority_level_is_lost_or_given_twice(seed):
    choose = random.Random(seed)
    stored = [
        level("a", 3, queues=4, hand=2, length=3, lends=50),
        level("b", 2, queues=2, length=2, borrows=50),
        level("c", 1),
    ]
    pool = pool_of(6, *stored)
    running, tasks = [], set()

    async def ask(one):
        with contextlib.suppress(StatusError):
            if not one.take():
                await one.wait(one.hand(str(choose.randrange(4))), one.usage_of("s"), 1, LONG)
            running.append(one)

    for _ in range(400):
        step = choose.random()
        if step < 0.5:
            tasks.add(asyncio.create_task(ask(choose.choice([*pool.levels.values()]))))
        elif step < 0.8 and running:
            running.pop(choose.randrange(len(running))).release(1)
        elif step < 0.9 and tasks:
            choose.choice(sorted(tasks, key=id)).cancel()
        else:
            pool.configure(stored)
        for _ in range(3):
            await asyncio.sleep(0)
        tasks = {each for each in tasks if not each.done()}
        for one in pool.levels.values():
            assert one.used <= one.upper
            assert not one.waiting or one.busy >= one.nominal, "it waits for a free seat"
    while running or any(not each.done() for each in tasks):
        while running:
            running.pop().release(1)
        for _ in range(3):
            await asyncio.sleep(0)
    assert all((one.busy, one.waiting) == (0, 0) for one in pool.levels.values())
