"""Writes of many pods: a limited number at a time, in order, and every one of them."""

import asyncio

import pytest

from inkube.controllers.workloads import writes
from inkube.schemas.status import Reason, StatusError


async def test_a_limited_number_of_calls_runs_at_a_time():
    running, most, done = 0, 0, []

    async def act(obj):
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        done.append(obj["n"])

    await writes.all_of(({"n": number} for number in range(100)), act)
    assert most == writes.MAX_CONCURRENT
    assert done == list(range(100))


async def test_the_first_error_is_raised_after_all_calls():
    done = []

    async def act(obj):
        done.append(obj["n"])
        if obj["n"] in (3, 70):
            raise ValueError(obj["n"])

    with pytest.raises(ValueError, match=r"^3$"):
        await writes.all_of(({"n": number} for number in range(100)), act)
    assert done == list(range(100))


async def test_batches_double_until_one_has_a_refusal():
    made = []

    async def make(number):
        made.append(number)
        if number >= 40:
            raise StatusError(403, Reason.FORBIDDEN, f"refused {number}")

    done, failure = await writes.in_batches(500, make)
    assert made == list(range(63))
    assert done == 40
    assert failure is not None
    assert failure.message == "refused 40"
