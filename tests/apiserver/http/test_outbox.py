"""Responses that are sent together: each once, in order, at the latest in the next loop
iteration."""

import asyncio
import random
from contextlib import AsyncExitStack

import pytest
from lines import answer, connected, serving

from inkube.apiserver.http.fast.outbox import MAX_WAITING, Outbox


class Transport(asyncio.Transport):
    """Stores written data."""

    def __init__(self):
        super().__init__()
        self.written = []
        self.closed = False

    def write(self, data):
        assert not self.closed, "written to after it was closed"
        self.written.append(data)

    def is_closing(self):
        return self.closed


class BrokenTransport(Transport):
    def write(self, data):
        raise ZeroDivisionError("division by zero")


def fail(transport, error):
    raise error


class Loop:
    """A loop that runs one iteration at a time."""

    def __init__(self):
        self.ready = []

    def call_soon(self, callback):
        self.ready.append(callback)

    def turn(self):
        ready, self.ready = self.ready, []
        for callback in ready:
            callback()


@pytest.mark.parametrize("seed", range(50))
def test_every_answer_is_sent_once_in_order_and_soon(seed):
    chosen, loop = random.Random(seed), Loop()
    outbox = Outbox(loop.call_soon, fail)
    transports = [Transport() for _ in range(chosen.choice([1, 3, 40]))]
    put = {transport: [] for transport in transports}
    for number in range(300):
        transport = chosen.choice(transports)
        match chosen.choice(["put", "put", "put", "turn", "close", "send"]):
            case "put" if not transport.closed:
                put[transport].append(b"%d" % number)
                outbox.put(transport, b"%d" % number, is_last=chosen.random() < 0.2)
            case "turn":
                loop.turn()
                assert all(each.closed or each.written == put[each] for each in transports)
            case "close" if chosen.random() < 0.2:
                outbox.send()
                assert transport.written == put[transport]
                transport.closed = True
            case "send":
                outbox.send()
                assert all(each.written == put[each] for each in transports)
        for each in transports:
            assert each.written == put[each][: len(each.written)]
        late = sum(len(put[each]) - len(each.written) for each in transports)
        assert late < MAX_WAITING


def test_a_single_response_is_sent_at_once_without_another_turn():
    loop, transport = Loop(), Transport()
    outbox = Outbox(loop.call_soon, fail)
    for number in (b"1", b"2", b"3"):
        outbox.expect()
        outbox.put(transport, number, is_last=outbox.start_request())
        assert transport.written[-1] == number
    assert not loop.ready


def test_of_many_that_come_together_the_last_sends_all():
    loop, transports = Loop(), [Transport() for _ in range(5)]
    outbox = Outbox(loop.call_soon, fail)
    for _ in transports:
        outbox.expect()
    for number, transport in enumerate(transports):
        is_last = outbox.start_request()
        outbox.put(transport, b"x", is_last=is_last)
        sent = [each.written for each in transports]
        assert sent == ([[]] * 5 if number < 4 else [[b"x"]] * 5)


def test_nothing_is_written_to_a_closed_connection():
    loop, gone, there = Loop(), Transport(), Transport()
    outbox = Outbox(loop.call_soon, fail)
    outbox.put(gone, b"x", is_last=False)
    outbox.put(there, b"x", is_last=False)
    gone.closed = True
    loop.turn()
    assert (gone.written, there.written) == ([], [b"x"])


async def test_crowds_are_answered_each_with_its_own():
    """Some responses are written at once, some after a wait, some only in part, a few in one
    piece."""

    async def handler(request):
        number = int(request.path[1:])
        if number % 3 == 1:
            await asyncio.sleep(0)
        if number % 7 == 2:
            await asyncio.sleep(0.001)
        return answer(request.path)

    def get(number, head=b""):
        return b"GET /%d HTTP/1.1\r\nHost: localhost\r\n%b\r\n" % (number, head)

    async def asks(line, first):
        for number in range(first, first + 8, 2):
            line.writer.write(get(number) + (get(number + 1) if number % 5 else b""))
            assert await line.answered() == (200, f"/{number}")
            if number % 5:
                assert await line.answered() == (200, f"/{number + 1}")
        line.writer.write(get(first + 9, b"Connection: close\r\n"))
        assert await line.answered() == (200, f"/{first + 9}")
        assert await line.is_over()

    async with serving(handler) as (port, _), AsyncExitStack() as stack:
        lines = [await stack.enter_async_context(connected(port)) for _ in range(60)]
        await asyncio.gather(*(asks(line, 100 * each) for each, line in enumerate(lines)))


@pytest.mark.parametrize("count", [2, 5, 40])
async def test_what_was_answered_before_its_connection_is_closed_is_sent(count):
    """In the same iteration in which all are written, the last response closes the other
    connections."""
    come, all_came, stop = [], asyncio.Event(), asyncio.Event()

    async def handler(request):
        come.append(request)
        if len(come) == count:
            all_came.set()
        await stop.wait()
        if request is come[-1]:
            for connection in server.connections:
                if connection is not request.protocol:
                    connection.force_close()
        return answer("done")

    async with serving(handler) as (port, server), AsyncExitStack() as stack:
        lines = [await stack.enter_async_context(connected(port)) for _ in range(count)]
        asked = [asyncio.create_task(line.ask()) for line in lines]
        await all_came.wait()
        stop.set()
        assert await asyncio.gather(*asked) == [(200, "done")] * count
        assert len(server.connections) == 1


def test_a_transport_that_fails_costs_no_other_its_answer():
    failed, loop = [], Loop()
    outbox = Outbox(loop.call_soon, lambda transport, error: failed.append((transport, str(error))))
    first, second, third = Transport(), BrokenTransport(), Transport()
    for transport in (first, second, third):
        outbox.put(transport, b"answer", is_last=False)
    loop.turn()
    assert (first.written, third.written) == ([b"answer"], [b"answer"])
    assert failed == [(second, "division by zero")]
