"""Requests to ports of simulated pods, whose servers keep their connections open."""

import asyncio
import contextlib

import aiohttp
from patience import within

import inkube

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "default"},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}


async def test_requests_on_one_connection_do_not_wait_for_connections_of_the_pod():
    """The response to the first is complete; the pod would keep its connection open for good."""
    stays_open = asyncio.Event()

    async def serve(reader, writer):
        with contextlib.closing(writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
            await stays_open.wait()

    backend = await asyncio.start_server(serve, "127.0.0.1", 0)
    target = {"address": "127.0.0.1", "port": backend.sockets[0].getsockname()[1]}
    forward = {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "PortForward",
        "metadata": POD["metadata"],
        "spec": {"forwards": [{"ports": [80], "target": target}]},
    }
    workloads = inkube.Workloads(nodes=1, allow_local=True)
    async with inkube.APIServer(workloads=workloads) as server, within():
        await server.client.create(POD)
        await server.client.create(forward)
        await server.settled()
        one = aiohttp.TCPConnector(limit=1)
        async with aiohttp.ClientSession(server.url, connector=one) as http:
            for _ in range(3):
                async with http.get("/api/v1/namespaces/default/pods/p:80/proxy/") as answer:
                    assert (answer.status, await answer.read()) == (200, b"hi")
        stays_open.set()
    backend.close()
