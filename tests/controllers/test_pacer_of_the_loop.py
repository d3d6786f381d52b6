"""Pacer: what is ready at once goes on one by one, and others get in between."""

import asyncio

from inkube.controllers.pacer import Pacer


async def test_one_waiter_goes_on_per_turn_of_the_loop():
    pacer, order = Pacer(), []

    async def work(number):
        await pacer.turn()
        order.append(number)

    async def request():
        for _ in range(4):
            await asyncio.sleep(0)
        order.append("request")

    async with asyncio.TaskGroup() as group:
        for number in range(20):
            group.create_task(work(number))
        group.create_task(request())
    assert [entry for entry in order if entry != "request"] == list(range(20))
    assert order.index("request") < 10


async def test_a_waiter_that_gives_up_does_not_hold_up_the_others():
    pacer = Pacer()
    gone = asyncio.create_task(pacer.turn())
    await asyncio.sleep(0)
    gone.cancel()
    async with asyncio.timeout(1):
        await pacer.turn()
        await pacer.turn()
