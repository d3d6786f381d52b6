"""Who is first in a turn of the event loop, and when the others go on."""

import asyncio

from inkube.storage.turns import Turns


async def test_one_is_first_in_each_turn() -> None:
    turns = Turns()
    assert [turns.first() for _ in range(3)] == [True, False, False]
    await asyncio.sleep(0)
    assert [turns.first() for _ in range(2)] == [True, False]


async def test_who_comes_alone_goes_on_at_once() -> None:
    turns = Turns()
    stage = turns.stage()
    try:
        stage.send(None)
    except StopIteration:
        return
    raise AssertionError("it waited")


async def test_many_finish_one_stage_before_the_next_begins() -> None:
    turns, seen = Turns(), []

    async def work(number: int) -> None:
        seen.append(("before", number))
        await turns.stage()
        seen.append(("after", number))

    await asyncio.gather(*map(work, range(4)))
    assert [stage for stage, number in seen if number > 0] == ["before"] * 3 + ["after"] * 3
    assert [number for stage, number in seen if stage == "after"] == [0, 1, 2, 3]
