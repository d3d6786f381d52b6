"""A connection that arrives while its server stops is served or closed: its client never waits.

A closed server of asyncio drops a connection that it has accepted and not begun: nothing closes it
before the garbage collector does.
"""

import asyncio
import contextlib
import gc
import socket
from collections.abc import Iterator

import pytest
from patience import within

from inkube.apiserver.configuration import Options
from inkube.apiserver.listening import open_listener
from inkube.apiserver.sources import Progress

TURNS = range(8)
"""Turns of the event loop between the connection and the stop."""


@pytest.fixture(autouse=True)
def _no_collection() -> Iterator[None]:
    """The garbage collector does not close connections."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("turns", TURNS)
async def test_a_connection_ends_with_the_server(turns: int, tls: bool, host: str) -> None:
    async with contextlib.AsyncExitStack() as stack:
        options = Options(host=host, port=0, tls=tls)
        listener = await open_listener(options, Progress(), stack)
        client = socket.create_connection(("127.0.0.1", listener.port))
        client.setblocking(False)
        for _ in range(turns):
            await asyncio.sleep(0)
    with client:
        async with within(5):
            with contextlib.suppress(ConnectionResetError):
                assert await asyncio.get_running_loop().sock_recv(client, 1) == b""
