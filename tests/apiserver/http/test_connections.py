"""Requests run without their own asyncio task, but handlers see everything as they would in a task.

Also, connections end correctly while something runs.
"""

import asyncio
import random
from contextlib import AsyncExitStack
from contextvars import ContextVar

import pytest
from aiohttp import web
from lines import GET, POST, answer, connected, serving
from patience import within

from inkube.apiserver.http.fast import versions

pytestmark = pytest.mark.usefixtures("each_loop")
WHO = ContextVar("WHO", default="nobody")


@pytest.fixture(params=["fast", "plain"], name="each_loop")
def _each_loop(request, monkeypatch):
    """With the faster event loop for connections, and with aiohttp's own."""
    if request.param == "plain":
        monkeypatch.setattr(versions, "TESTED", frozenset())


async def let_others():
    await asyncio.sleep(0)


async def wait_for_a_timer():
    await asyncio.sleep(0.001)


async def wait_for_a_thread():
    await asyncio.to_thread(str)


async def wait_for_what_is_done():
    done = asyncio.get_running_loop().create_future()
    done.set_result(None)
    await done


async def wait_for_what_fails():
    failing = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(failing.set_exception, OSError("failed"))
    await failing


async def wait_too_long():
    async with asyncio.timeout(0.001):
        await asyncio.Event().wait()


async def wait_no_time_at_all():
    async with asyncio.timeout(0):
        await asyncio.sleep(0)
        await asyncio.Event().wait()


async def wait_for_others():
    async with asyncio.TaskGroup() as group:
        group.create_task(asyncio.sleep(0))
        group.create_task(asyncio.sleep(0.001))


async def fail_with_others():
    async with asyncio.TaskGroup() as group:
        group.create_task(wait_for_what_fails())
        await asyncio.Event().wait()


async def be_cancelled():
    asyncio.current_task().cancel("enough")
    try:
        await asyncio.Event().wait()
    finally:
        asyncio.current_task().uncancel()


async def be_cancelled_twice():
    for _ in range(2):
        asyncio.current_task().cancel()
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            asyncio.current_task().uncancel()


async def be_cancelled_by_a_timer():
    asyncio.get_running_loop().call_later(0.001, asyncio.current_task().cancel)
    try:
        await asyncio.shield(asyncio.get_running_loop().create_future())
    finally:
        asyncio.current_task().uncancel()


async def remember():
    WHO.set("me")


async def collect():
    async def numbers():
        for number in range(3):
            await asyncio.sleep(0)
            yield number

    assert [number async for number in numbers()] == [0, 1, 2]


STEPS = (
    let_others, wait_for_a_timer, wait_for_a_thread, wait_for_what_is_done, wait_for_what_fails,
    wait_too_long, wait_no_time_at_all, wait_for_others, fail_with_others, be_cancelled,
    be_cancelled_twice, be_cancelled_by_a_timer, remember, collect,
)  # fmt: skip


async def carried_out(steps):
    """Return the observations of a coroutine with these steps: each outcome, whether the task is
    still the same, the number of cancellations, the values of context variables."""
    seen, task = [], asyncio.current_task()
    for step in steps:
        try:
            outcome = repr(await step())
        except (Exception, asyncio.CancelledError) as error:
            outcome = type(error).__name__
        same = asyncio.current_task() is task
        seen.append((step.__name__, outcome, same, task.cancelling(), WHO.get()))
    return seen


@pytest.mark.parametrize("seed", range(20))
async def test_a_handler_sees_what_it_sees_in_a_task(seed):
    chosen = random.Random(seed)
    programs = [chosen.choices(STEPS, k=chosen.randrange(1, 7)) for _ in range(8)]
    wanted = [await asyncio.create_task(carried_out(steps)) for steps in programs]
    seen = {}

    async def handler(request):
        number = int(request.path[1:])
        seen[number] = await carried_out(programs[number])
        return answer(str(number))

    async with serving(handler) as (port, _), connected(port) as first, connected(port) as second:
        for number in range(0, len(programs), 2):
            asked = first.ask(GET % number), second.ask(POST % (number + 1))
            answers = list(await asyncio.gather(*asked))
            assert answers == [(200, str(number)), (200, str(number + 1))]
    assert [seen[number] for number in range(len(programs))] == wanted


async def test_requests_of_one_connection_have_contexts_of_their_own():
    async def handler(request):
        before = WHO.get()
        token = WHO.set(request.path)
        await asyncio.sleep(0)
        after = WHO.get()
        if request.path == "/1":
            WHO.reset(token)  # in the context in which it was set
        return answer(f"{before} {after}")

    async with serving(handler) as (port, _), connected(port) as line:
        assert await line.ask(GET % 1) == (200, "nobody /1")
        assert await line.ask(GET % 2) == (200, "nobody /2")
        assert await line.ask(GET % 3) == (200, "nobody /3")


async def test_a_cancelled_request_is_cancelled_where_it_waits():
    waits = asyncio.Event()
    asked = []

    async def handler(request):
        asked.append(request.task)
        waits.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            request_task = asyncio.current_task()
            request_task.uncancel()
            return answer("cancelled")

    async with serving(handler) as (port, _), connected(port) as line:
        for _ in range(3):
            waits.clear()
            line.writer.write(GET % 0)
            await waits.wait()
            asked[-1].cancel()
            assert await line.answered() == (200, "cancelled")


@pytest.mark.parametrize(("error", "code"), [(ValueError, 500), (web.HTTPNotFound, 404)])
@pytest.mark.parametrize("waits", [False, True])
async def test_an_exception_of_a_handler_becomes_a_response(error, code, waits):
    async def handler(_):
        if waits:
            await asyncio.sleep(0.001)
        raise error

    async with serving(handler) as (port, _), connected(port) as line:
        assert (await line.ask())[0] == code


async def test_a_header_that_cannot_be_sent_is_an_error_of_the_server(caplog):
    async def handler(_):
        return answer("x", Odd="a\r\nb: c")

    async with serving(handler) as (port, _), connected(port) as line:
        assert (await line.ask())[0] == 500
    assert "a header that cannot be sent" in caplog.text
    caplog.clear()


async def test_requests_that_come_together_are_answered_in_their_order():
    async def handler(request):
        if request.path.endswith("5"):
            await asyncio.sleep(0.001)
        return answer(request.path)

    async with serving(handler) as (port, _), connected(port) as line:
        line.writer.write(b"".join(GET % number for number in range(30)))
        assert [await line.answered() for _ in range(30)] == [
            (200, f"/{number}") for number in range(30)
        ]
        assert await line.ask(GET % 99) == (200, "/99")


async def test_a_request_that_comes_in_pieces_is_answered_when_it_is_whole():
    async def handler(request):
        return answer((await request.read()).decode())

    async with serving(handler) as (port, _), connected(port) as line:
        for cut in (1, 10, len(POST) - 6, len(POST) - 1):
            whole = POST % 0
            line.writer.write(whole[:cut])
            await line.writer.drain()
            await asyncio.sleep(0.001)
            assert await line.ask(whole[cut:]) == (200, "body")


async def test_requests_behind_a_waiting_request_of_one_connection_wait():
    first, go = asyncio.Event(), asyncio.Event()

    async def handler(request):
        if request.path == "/1":
            first.set()
            await go.wait()
        return answer(request.path)

    async with serving(handler) as (port, _), connected(port) as line:
        line.writer.write(GET % 1)
        await first.wait()
        line.writer.write(GET % 2)
        line.writer.write(GET % 3)
        await asyncio.sleep(0.001)
        go.set()
        assert [await line.answered() for _ in range(3)] == [(200, f"/{n}") for n in (1, 2, 3)]


async def test_a_server_that_stops_lets_what_waits_come_to_its_end():
    waits, go = asyncio.Event(), asyncio.Event()

    async def handler(_):
        waits.set()
        await go.wait()
        return answer("done")

    async with AsyncExitStack() as stack:
        async with serving(handler) as (port, _):
            line = await stack.enter_async_context(connected(port))
            line.writer.write(GET % 0)
            await waits.wait()
            asyncio.get_running_loop().call_later(0.01, go.set)
        assert await line.answered() == (200, "done")
        assert await line.is_over()


async def test_a_server_that_stops_reads_and_answers_a_body_that_still_arrives():
    begins, whole = asyncio.Event(), POST % 0

    async def handler(request):
        begins.set()
        return answer((await request.read()).decode())

    async def send_rest(line, idle):
        assert await idle.is_over()
        line.writer.write(whole[-2:])

    async with AsyncExitStack() as stack:
        async with serving(handler) as (port, _):
            line = await stack.enter_async_context(connected(port))
            idle = await stack.enter_async_context(connected(port))
            line.writer.write(whole[:-2])
            await begins.wait()
            sending = asyncio.create_task(send_rest(line, idle))
        await sending
        async with within():
            head, _, body = (await line.reader.read()).partition(b"\r\n\r\n")
        assert b"\r\nConnection: close" in head
        assert body == b"body"


async def test_a_stop_that_is_cancelled_waits_no_longer():
    waits, ended = asyncio.Event(), asyncio.Event()

    async def handler(_):
        waits.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with serving(handler) as (port, server), connected(port) as line:
        line.writer.write(GET % 0)
        await waits.wait()
        server.pre_shutdown()
        stopping = asyncio.create_task(server.shutdown())
        await asyncio.sleep(0)
        stopping.cancel()
        async with within():
            with pytest.raises(asyncio.CancelledError):
                await stopping
            await ended.wait()


async def test_a_server_that_stops_cancels_what_does_not_end():
    waits, ended = asyncio.Event(), []

    async def handler(_):
        waits.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    async with AsyncExitStack() as stack:
        async with serving(handler, stop_seconds=0.01) as (port, _):
            line = await stack.enter_async_context(connected(port))
            line.writer.write(GET % 0)
            await waits.wait()
        assert ended == ["cancelled"]
        assert await line.is_over()


@pytest.mark.parametrize("pieces", [0, 1])
async def test_a_disconnecting_client_affects_no_other_connection(pieces):
    """A handler runs to its end after its client disconnected, and the connection is freed."""
    waits, go, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def handler(_):
        waits.set()
        await go.wait()
        ended.set()
        return answer("x" * 10)

    async with serving(handler) as (port, server):
        async with connected(port) as line:
            line.writer.write(GET % 0)
            await waits.wait()
            line.writer.write((GET % 1)[: pieces * 7])
        await line.writer.wait_closed()
        go.set()
        await ended.wait()
        async with connected(port) as other:
            await other.ask()
            assert len(server.connections) == 1
