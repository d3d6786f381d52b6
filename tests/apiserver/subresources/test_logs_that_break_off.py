"""A log that fails after its first lines: the client can notice that it is not complete."""

import asyncio

import aiohttp
import pytest
from patience import within

from inkube import APIServer, Workloads
from inkube.apiserver.subresources import containers
from inkube.schemas import status

LOG = "/api/v1/namespaces/default/pods/p/log"
ERRORS = [
    ValueError("the function has a bug"),
    status.bad_request("the log is gone"),
    ConnectionResetError("the log is on another machine"),
    TimeoutError(),
]


class Kubelet:
    """Serves one log, which fails after its first line."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def answers(self, pod):
        return True

    async def logs(self, pod, container, query):
        yield b"one\n"
        raise self._error


@pytest.fixture(params=ERRORS, ids=[type(error).__name__ for error in ERRORS])
async def server(request, monkeypatch):
    find = containers.PodStreams._kubelet_of
    kubelet = Kubelet(request.param)
    monkeypatch.setattr(
        containers.PodStreams, "_kubelet_of", lambda *given: find(*given) and kubelet
    )
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {"nodeName": "kube-node-1", "containers": [{"name": "c", "image": "i"}]},
    }
    async with APIServer(workloads=Workloads(controllers={"kubelet"})) as running, within():
        await running.client.create(pod)
        yield running


async def received(server: APIServer, request: bytes) -> bytes:
    """Return all bytes that a client receives until the end of the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(request)
    told = b""
    try:
        while piece := await reader.read(65536):
            told += piece
    except ConnectionResetError:
        pass  # the server disconnects at once
    writer.close()
    return told


async def test_a_log_that_fails_has_no_end_and_no_second_response(server, caplog):
    request = f"GET {LOG} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    told = await received(server, request)
    caplog.clear()  # the error of a bug is expected
    assert told.startswith(b"HTTP/1.1 200 ")
    assert told.count(b"HTTP/1.1 ") == 1
    assert b"0\r\n\r\n" not in told


async def test_a_client_of_http_1_0_is_disconnected_too(server, caplog):
    told = await received(server, f"GET {LOG} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
    caplog.clear()
    assert told.count(b"HTTP/1.") <= 1  # sent data can be lost with the connection


async def test_a_websocket_that_fails_is_not_closed_as_if_the_log_were_complete(server, caplog):
    async with aiohttp.ClientSession() as client, client.ws_connect(server.url + LOG) as socket:
        messages = [message async for message in socket]
        assert socket.close_code != 1000
    caplog.clear()
    assert all(message.type is aiohttp.WSMsgType.BINARY for message in messages)


async def test_a_server_serves_other_requests_after_a_broken_log(server, caplog):
    async with aiohttp.ClientSession(server.url) as client:
        with pytest.raises(aiohttp.ClientError):
            async with client.get(LOG) as answer:
                await answer.read()
        caplog.clear()
        async with client.get("/readyz") as answer:
            assert answer.status == 200
