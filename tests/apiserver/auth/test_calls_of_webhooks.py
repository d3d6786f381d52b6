"""Calls of webhooks for authentication and authorization: which errors another call follows."""

import asyncio
import socket
import ssl
import struct

import pytest

from inkube.apiserver.auth import Outgoing, Webhook
from inkube.apiserver.auth.outgoing import CallError
from inkube.apiserver.auth.webhookcalls import Target

RESET = struct.pack("ii", 1, 0)
"""SO_LINGER: the end of a connection is a reset."""


@pytest.mark.parametrize(
    ("answers", "calls"),
    [
        (["reset", "200 OK"], 2),
        (["500 No", "429 No", "504 No", "reset", "200 OK"], 5),
        (["500 No"] * 6, 5),
        (["403 No", "200 OK"], 1),
        (["", "200 OK"], 1),
    ],
)
async def test_calls_are_repeated_after_errors_that_pass(answers: list[str], calls: int) -> None:
    left, waits, client = iter(answers), [], Outgoing()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n{}")
        answer = next(left)
        if answer == "reset":
            own = writer.get_extra_info("socket")
            own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        elif answer:
            length = "Content-Length: 2\r\nConnection: close"
            writer.write(f"HTTP/1.1 {answer}\r\n{length}\r\n\r\n{{}}".encode())
        writer.close()

    async def wait(seconds: float) -> None:
        waits.append(seconds)

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        target = Target(f"http://127.0.0.1:{port}", ssl.create_default_context(), {})
        sent = Webhook(target, client, wait=wait).send({})
        if "200 OK" in answers[:calls]:
            assert await sent == {}
        else:
            with pytest.raises(CallError):
                await sent
        await client.close()
    assert waits == [0.5, 0.75, 1.125, 1.6875][: calls - 1]


async def test_a_call_after_the_end_opens_no_connection() -> None:
    client = Outgoing()
    await client.close()
    with pytest.raises(CallError, match="the server has stopped"):
        await client.get("http://127.0.0.1:1/", ssl.create_default_context(), 1)
