"""Clients that send bodies too slowly are disconnected, and do not block others."""

import asyncio

import pytest
from patience import SECONDS

from inkube.apiserver import app
from inkube.apiserver.server import APIServer

HEAD = (
    "POST /api/v1/namespaces HTTP/1.1\r\nHost: localhost\r\n"
    "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
)


async def test_a_body_that_does_not_come_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "WRITE_SECONDS", 0.05)
    async with APIServer() as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(HEAD.encode())
        answer = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), SECONDS)
        assert answer.startswith(b"HTTP/1.1 504")
        writer.close()
        await writer.wait_closed()


async def test_waiting_bodies_leave_room_for_readers() -> None:
    async with APIServer(max_requests_inflight=3, max_mutating_requests_inflight=2) as server:
        waiting = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(5)]
        for _, writer in waiting:
            writer.write(HEAD.encode())
        refused, _ = waiting[-1]
        answer = await asyncio.wait_for(refused.readuntil(b"\r\n\r\n"), SECONDS)
        assert answer.startswith(b"HTTP/1.1 429")
        assert b"Retry-After: 1" in answer
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), SECONDS)
        assert answer.startswith(b"HTTP/1.1 200")
        for _, each in [*waiting, (reader, writer)]:
            each.close()
            await each.wait_closed()
