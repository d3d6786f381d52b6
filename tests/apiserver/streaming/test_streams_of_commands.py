"""Tests of the input and output of commands, with every subprotocol of WebSocket and with SPDY."""

import asyncio
import base64
import json
from typing import Any

import aiohttp
import pytest
import spdyclient
from patience import within

from inkube.apiserver.streaming import commands, spdy
from inkube.apiserver.streaming.connections import STREAMS
from inkube.schemas import status

TELLS_STATUS = ("v5.channel.k8s.io", "v4.channel.k8s.io", "v4.base64.channel.k8s.io")
OLD = ("channel.k8s.io", "base64.channel.k8s.io", "")
ALL = (*TELLS_STATUS, *OLD)
SPDY = "SPDY"
OUTPUT = {"stdout": True, "stderr": True}


class Session:
    """A WebSocket whose messages are read and written as a channel and bytes, in
    each subprotocol."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket
        self.is_base64 = "base64" in (socket.protocol or "")

    async def send(self, channel: int, data: bytes) -> None:
        if self.is_base64:
            await self.socket.send_str(f"{channel}{base64.b64encode(data).decode()}")
        else:
            await self.socket.send_bytes(bytes((channel,)) + data)

    def read(self, message: aiohttp.WSMessage) -> tuple[int, bytes]:
        if self.is_base64:
            return int(message.data[0]), base64.b64decode(message.data[1:])
        return message.data[0], message.data[1:]

    async def receive(self) -> tuple[int, bytes]:
        return self.read(await self.socket.receive())

    async def rest(self) -> list[tuple[int, bytes]]:
        return [self.read(message) async for message in self.socket]


def connected(client: aiohttp.ClientSession, url: str, protocol: str) -> Any:
    return client.ws_connect(url, protocols=[protocol] if protocol else [])


async def talks(process: commands.Process) -> int:
    """Write to both outputs, and return the exit code 3."""
    await process.write(b"one")
    await process.write(b"two", is_error=True)
    await process.write(b"three")
    return 3


async def refuses(process: commands.Process) -> int:
    raise status.bad_request("there is no such program")


async def is_quiet(process: commands.Process) -> int:
    return 0


async def run(serving: Any, protocol: str, command: commands.Run) -> tuple[bytes, bytes, bytes]:
    """Return stdout and stderr of a command, and the content of the error channel."""
    async with serving(command, **OUTPUT) as url, within():
        if protocol == SPDY:
            async with spdyclient.connected(url) as (code, client):
                assert code == 101
                for name in ("error", "stdout", "stderr"):
                    await client.open(name)
                found = await client.read_all()
            return found["stdout"], found["stderr"], found["error"]
        async with (
            aiohttp.ClientSession() as session,
            connected(session, url, protocol) as socket,
        ):
            told = await Session(socket).rest()
            assert (socket.protocol or "", socket.close_code) == (protocol, 1000)
    stdout, stderr, error = (
        b"".join(data for number, data in told if number == channel)
        for channel in (commands.STDOUT, commands.STDERR, commands.ERROR)
    )
    return stdout, stderr, error


@pytest.mark.parametrize("protocol", [*ALL, SPDY])
async def test_output_comes_on_its_own_channel_in_order(serving, protocol):
    stdout, stderr, _ = await run(serving, protocol, talks)
    assert (stdout, stderr) == (b"onethree", b"two")


@pytest.mark.parametrize("command", [talks, refuses, is_quiet])
async def test_every_protocol_with_a_status_sends_the_same_one(serving, command):
    told = [(await run(serving, each, command))[2] for each in (*TELLS_STATUS, SPDY)]
    first, *others = map(json.loads, told)
    assert all(other == first for other in others)
    assert first["status"] == ("Success" if command is is_quiet else "Failure")


@pytest.mark.parametrize("protocol", OLD)
async def test_older_protocols_send_an_error_as_text_and_nothing_for_success(serving, protocol):
    assert (await run(serving, protocol, is_quiet))[2] == b""
    assert (await run(serving, protocol, refuses))[2] == b"there is no such program"


@pytest.mark.parametrize("wanted", [{"stdout": True}, {"stderr": True}])
async def test_an_output_that_is_not_requested_is_not_sent(serving, wanted):
    async with (
        serving(talks, **wanted) as url, within(),
        aiohttp.ClientSession() as client, connected(client, url, "v4.channel.k8s.io") as socket,
    ):  # fmt: skip
        told = await Session(socket).rest()
    channels = {number for number, data in told if data}
    own = commands.STDOUT if "stdout" in wanted else commands.STDERR
    assert channels == {own, commands.ERROR}


async def echoes(process: commands.Process) -> int:
    """Write every input back, then the word `end`. Returns the exit code 0."""
    while data := await process.read():
        await process.write(data)
    await process.write(b"end")
    return 0


async def test_a_client_of_v5_ends_the_input(serving):
    async with (
        serving(echoes, stdin=True, stdout=True) as url, within(),
        aiohttp.ClientSession() as client, connected(client, url, "v5.channel.k8s.io") as socket,
    ):  # fmt: skip
        session = Session(socket)
        await session.send(commands.STDIN, b"hi")
        await session.send(commands.CLOSE, bytes((commands.STDIN,)))
        told = await session.rest()
    assert b"".join(data for number, data in told if number == commands.STDOUT) == b"hiend"


async def test_the_end_of_an_input_is_unknown_before_v5(serving):
    async with (
        serving(echoes, stdin=True, stdout=True) as url, within(),
        aiohttp.ClientSession() as client, connected(client, url, "v4.channel.k8s.io") as socket,
    ):  # fmt: skip
        session = Session(socket)
        await session.receive()  # the first, empty one
        await session.send(commands.CLOSE, bytes((commands.STDIN,)))
        await session.send(commands.STDIN, b"still here")
        assert await session.receive() == (commands.STDOUT, b"still here")


async def test_a_client_of_spdy_ends_the_input_with_its_stream(serving):
    async with (
        serving(echoes, stdin=True, stdout=True) as url, within(),
        spdyclient.connected(url) as (_, client),
    ):  # fmt: skip
        for name in ("error", "stdin", "stdout"):
            await client.open(name)
        await client.write("stdin", b"hi")
        await client.write("stdin", b"", ends=True)
        assert (await client.read_all())["stdout"] == b"hiend"


@pytest.mark.parametrize("protocol", [*ALL, SPDY])
async def test_sizes_of_the_terminal_reach_the_command_and_nonsense_does_not(serving, protocol):
    async def measures(process: commands.Process) -> int:
        found = [await process.next_size()]
        await process.write(b"next")
        found.append(await process.next_size())
        await process.write(json.dumps(found).encode())
        return 0

    sizes = [b"no size", b'{"Width": 80, "Height": 24}'], [b'{"Width": 100, "Height": 30}']
    async with serving(measures, stdout=True, tty=True) as url, within():
        if protocol == SPDY:
            async with spdyclient.connected(url) as (_, client):
                for name in ("error", "stdout", "resize"):
                    await client.open(name)
                for size in sizes[0]:
                    await client.write("resize", size)
                told = b""
                async for head, payload in client.frames():
                    if head.kind == 0 and head.stream == client.streams["stdout"]:
                        told += payload
                        if payload == b"next":
                            await client.write("resize", sizes[1][0])
                        elif head.ends:
                            break
        else:
            async with (
                aiohttp.ClientSession() as opened, connected(opened, url, protocol) as socket
            ):  # fmt: skip
                session = Session(socket)
                for size in sizes[0]:
                    await session.send(commands.RESIZE, size)
                while (await session.receive()) != (commands.STDOUT, b"next"):
                    pass
                await session.send(commands.RESIZE, sizes[1][0])
                told = b"next" + b"".join(d for n, d in await session.rest() if n == 1)
    assert told == b"next[[80, 24], [100, 30]]"


@pytest.mark.parametrize("protocol", ["v5.channel.k8s.io", SPDY])
async def test_a_command_ends_when_its_client_disconnects(serving, protocol):
    ended = asyncio.Event()

    async def waits(process: commands.Process) -> int:
        try:
            await process.write(b"begun")
            await asyncio.Event().wait()
        finally:
            ended.set()
        return 0

    async with serving(waits, stdout=True) as url, within():
        if protocol == SPDY:
            async with spdyclient.connected(url) as (_, client):
                for name in ("error", "stdout"):
                    await client.open(name)
                async for head, payload in client.frames():
                    if head.kind == 0 and payload == b"begun":
                        break
        else:
            async with (
                aiohttp.ClientSession() as opened, connected(opened, url, protocol) as socket
            ):  # fmt: skip
                while (await Session(socket).receive()) != (commands.STDOUT, b"begun"):
                    pass
        await ended.wait()


async def test_a_client_of_spdy_without_the_protocol_is_refused(serving):
    async with (
        serving(talks, **OUTPUT) as url, within(),
        spdyclient.connected(url, ["v2.channel.k8s.io"]) as (code, _),
    ):  # fmt: skip
        assert code == 403


async def test_an_unknown_subprotocol_is_refused(serving):
    async with serving(talks, **OUTPUT) as url, within(), aiohttp.ClientSession() as client:
        with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
            await connected(client, url, "v9.channel.k8s.io")
    assert caught.value.status == 403


async def test_a_ping_is_answered_while_a_command_runs(serving):
    async def waits(process: commands.Process) -> int:
        await process.read()
        return 0

    async with (
        serving(waits, stdin=True) as url, within(), spdyclient.connected(url) as (_, client)
    ):  # fmt: skip
        for name in ("error", "stdin"):
            await client.open(name)
        await client.send(spdy.ping(7))
        async for head, payload in client.frames():
            if head.kind == spdy.PING:
                assert spdy.number(payload) == 7
                break


async def test_a_session_has_a_limit_of_streams(serving):
    async def waits(process: commands.Process) -> int:
        await process.read()
        return 0

    async with (
        serving(waits, stdin=True) as url, within(), spdyclient.connected(url) as (_, client)
    ):  # fmt: skip
        for name in ("error", "stdin"):
            await client.open(name)
        numbers = [await client.open(f"more {number}") for number in range(STREAMS)]
        refused = []
        async for head, payload in client.frames():
            if head.kind == spdy.RST_STREAM:
                refused.append(spdy.number(payload))
                if refused[-1] == numbers[-1]:
                    break
    assert refused == numbers[-2:]
