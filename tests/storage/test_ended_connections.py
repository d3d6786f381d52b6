"""PostgreSQL ends a connection: its last message may arrive before the end itself."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from patience import within

from inkube.storage.errors import AlreadyExists
from inkube.storage.log import FIRST_REVISION
from inkube.storage.sql.log import SqlLog
from inkube.storage.sql.postgresql import postgresql_log
from inkube.storage.store import Store


class Relay:
    """A proxy between a log and its database that does not forward the end of a connection."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._ended: list[asyncio.Event] = []
        self._served: set[asyncio.Task[None]] = set()
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward data in both directions until the log closes the connection."""
        task = asyncio.current_task()
        assert task is not None
        self._served.add(task)
        answers, questions = await asyncio.open_connection("127.0.0.1", self._port)
        ended = asyncio.Event()
        self._ended.append(ended)

        async def answer() -> None:
            await _pass_on(answers, writer)
            ended.set()

        answering = asyncio.create_task(answer())
        await _pass_on(reader, questions)
        questions.close()
        await answering
        writer.close()

    async def cut(self, cluster: Any) -> None:
        """Let the database end every connection, and wait until its last messages have arrived."""
        open_connections = tuple(self._ended)  # the log can open others meanwhile
        await cluster.cut()
        async with within():
            for each in open_connections:
                await each.wait()
        for _ in range(10):  # iterations in which the driver reads arrived data
            await asyncio.sleep(0)

    async def close(self) -> None:
        """Wait until the log has closed every connection."""
        async with within():
            await asyncio.gather(*self._served)


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()


@pytest.fixture
async def relay(cluster: Any) -> AsyncIterator[Relay]:
    relay = Relay(cluster.port)
    server = await asyncio.start_server(relay.serve, "127.0.0.1", 0)
    name = (await cluster.database()).rpartition("/")[2]
    relay.url = f"postgresql://postgres@127.0.0.1:{server.sockets[0].getsockname()[1]}/{name}"
    yield relay
    server.close()
    await relay.close()


@pytest.mark.parametrize(
    "ask",
    [
        lambda log: log.newest(),
        lambda log: log.horizon(),
        lambda log: log.missed(FIRST_REVISION, 10),
    ],
    ids=["newest", "horizon", "missed"],
)
async def test_a_read_on_a_connection_that_has_just_ended_is_answered_on_another(
    relay: Relay, cluster: Any, ask: Callable[[SqlLog], Awaitable[object]]
):
    log = postgresql_log(relay.url)
    await log.open()
    try:
        answer = await ask(log)
        await relay.cut(cluster)
        assert await ask(log) == answer
        assert log.failure == ""
    finally:
        await log.close()


@pytest.mark.parametrize("fits", [True, False], ids=["one statement", "a transaction"])
async def test_a_write_on_a_connection_that_has_just_ended_is_done_once_on_another(
    relay: Relay, cluster: Any, codec: Any, *, fits: bool
):
    async with Store(postgresql_log(relay.url), codec) as store:
        made = await store.create("/a", {"n": 1})
        await relay.cut(cluster)
        if fits:
            assert (await store.create("/b", {"n": 2})).revision == made.revision + 1
        else:  # a write refused by the cached state is checked again in a transaction
            with pytest.raises(AlreadyExists):
                await store.create("/a", {"n": 2})
        history = await store.history("/", FIRST_REVISION, 10)
        assert [change.entry.key for change, _ in history] == ["/a", "/b"][: 1 + fits]
