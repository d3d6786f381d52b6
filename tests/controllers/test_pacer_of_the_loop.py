"""Pacer: ready items run one by one, with other work between them."""

import asyncio

from patience import within

from inkube.controllers.pacer import CROWD, TIMES, Pacer


async def test_one_waiter_continues_in_each_turn_of_the_loop():
    pacer, order = Pacer(), []

    async def work(number):
        await pacer.wait()
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
    gone = asyncio.create_task(pacer.wait())
    await asyncio.sleep(0)
    gone.cancel()
    async with within():
        await pacer.wait()
        await pacer.wait()


async def order_of(crowd, patient="patient"):
    """Return the order in which a patient waiter and later ones continue."""
    pacer, order = Pacer(), []

    async def work(name, **how):
        await pacer.wait(**how)
        order.append(name)
        if name != patient and len(order) < 10 * crowd:
            await work(name, **how)  # there is always more work

    async with asyncio.TaskGroup() as group:
        group.create_task(work(patient, patient=True))
        for number in range(crowd):
            group.create_task(work(number))
    return order


async def test_a_patient_waiter_lets_others_pass_within_a_limit():
    order = await order_of(CROWD)
    assert CROWD <= order.index("patient") <= (CROWD + 1) * TIMES


async def test_a_patient_waiter_continues_at_once_without_others():
    assert (await order_of(CROWD - 1))[0] == "patient"
