"""The bound of what waits for the writer: how many are inside, in which order, none forgotten."""

import asyncio
import contextlib
import random

import pytest
from patience import SECONDS

from inkube.storage.room import Room

SIZE = 3


async def test_who_finds_room_comes_in_at_once():
    room = Room(2)
    assert room.enter_at_once()
    await asyncio.wait_for(room.enter(), SECONDS)
    assert not room.enter_at_once()
    room.leave(1)
    assert room.enter_at_once()


async def test_nobody_overtakes_who_was_called_in():
    room, order = Room(1), []

    async def come(name: str) -> None:
        await room.enter()
        order.append(name)
        room.leave(1)

    assert room.enter_at_once()
    first = asyncio.ensure_future(come("first"))
    await asyncio.sleep(0)
    room.leave(1)  # it is called in, and has not come yet
    assert not room.enter_at_once()
    second = asyncio.ensure_future(come("second"))
    await asyncio.gather(first, second)
    assert order == ["first", "second"]


@pytest.mark.parametrize("seed", range(40))
async def test_all_who_stay_come_in_in_order_and_never_too_many(seed: int):
    chance = random.Random(seed)
    room, inside, came = Room(SIZE), 0, []

    async def come(name: int) -> None:
        nonlocal inside
        if not room.enter_at_once():
            await room.enter()
        came.append(name)
        inside += 1
        assert inside <= SIZE

    waiting: dict[int, asyncio.Task[None]] = {}
    gone: set[int] = set()
    for name in range(60):
        waiting[name] = asyncio.ensure_future(come(name))
        for _ in range(chance.randrange(3)):
            match chance.randrange(3):
                case 0:
                    await asyncio.sleep(0)
                case 1 if inside:
                    count = chance.randint(1, inside)
                    inside -= count
                    room.leave(count)
                case _:
                    one = chance.choice(list(waiting))
                    if waiting[one].cancel():
                        gone.add(one)
    while not all(task.done() for task in waiting.values()):
        await asyncio.sleep(0)
        if inside:
            inside -= 1
            room.leave(1)
    for task in waiting.values():
        with contextlib.suppress(asyncio.CancelledError):
            await task
    assert came == [name for name in range(60) if name in came]
    assert {*range(60)} - {*came} <= gone
    room.leave(inside)
    assert [room.enter_at_once() for _ in range(SIZE + 1)] == [True] * SIZE + [False]
