"""What a server has opened ends with the server: sessions, transports, tasks and threads."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aggregated
import aiohttp
import pytest
from aggregated import GROUP, NAME, PREFIX
from aiohttp import web
from leftovers import left, still_open
from patience import within

from inkube import APIServer
from inkube.controllers.core.apiservices import RESOURCE

LOCAL = "v1.local.example.com"
SERVICES = "/api/v1/namespaces/default/services"


async def answer(request: web.BaseRequest) -> web.StreamResponse:
    """Answer as a server in this process: a watch never ends."""
    if "watch" in request.query:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"event\n")
        await asyncio.Event().wait()
    return web.json_response({"kind": "ThingList", "items": []})


@asynccontextmanager
async def backend() -> AsyncIterator[int]:
    """Yield the port of a server outside this one."""
    runner = web.ServerRunner(web.Server(answer, handler_cancellation=True), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def registration(port: int) -> dict[str, Any]:
    spec = {
        "group": GROUP, "version": "v1beta1", "groupPriorityMinimum": 1, "versionPriority": 1,
        "service": {"namespace": "default", "name": "s"}, "insecureSkipTLSVerify": True,
    }  # fmt: skip
    url = {"aggregation.inkube.dev/url": f"https://127.0.0.1:{port}"}
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": NAME, "annotations": url},
        "spec": spec,
    }


def webhook(port: int) -> dict[str, Any]:
    """Return a webhook that refuses no object, because its server cannot be trusted."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["secrets"]}
    hook = {
        "name": "a.example.com", "clientConfig": {"url": f"https://127.0.0.1:{port}"},
        "rules": [rule], "failurePolicy": "Ignore", "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }  # fmt: skip
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "a"},
        "webhooks": [hook],
    }


SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "s", "namespace": "default"},
    "spec": {"ports": [{"port": 80}]},
}
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "namespace": "default"}}


@pytest.mark.parametrize("end", ["stop", "clients disconnect before", "cancelled in every turn"])
async def test_a_stopped_server_leaves_nothing_open(end: str) -> None:
    things = aggregated.Things()
    async with (
        backend() as port,
        aggregated.serving(things) as remote,
        within(),
        contextlib.AsyncExitStack() as stack,
    ):
        before = sorted(still_open())
        session = await stack.enter_async_context(aiohttp.ClientSession())
        options: Any = {"service_addresses": [f"default/s=127.0.0.1:{port}"], "workloads": True}
        async with APIServer(aggregated={LOCAL: answer}, **options) as server:
            for each in (SERVICE, registration(remote), webhook(remote), SECRET):
                await server.client.create(each)
            await server.settled()
            things.objects.append({"metadata": {"name": "a"}})  # the first event
            streams = [
                await session.get(server.url + path)
                for path in (
                    "/api/v1/configmaps?watch=1",
                    "/apis/local.example.com/v1/things?watch=1",
                    f"{SERVICES}/s/proxy/?watch=1",
                    f"{PREFIX}/things?watch=1",
                )
            ]
            assert {each.status for each in streams} == {200}
            async with session.post(f"{server.url}/inkube/v1/fork", json={"name": "f"}) as made:
                assert made.status == 200, await made.text()
            if end == "clients disconnect before":
                await session.close()
            if end == "cancelled in every turn":
                stopping = asyncio.create_task(server.stop())
                while not stopping.done():
                    await asyncio.sleep(0)
                    stopping.cancel()
        await session.close()
        assert await left(before) == before


async def test_a_check_of_another_server_ends_with_its_own() -> None:
    """Both servers stop between the check and the requests for the documents of the other one."""
    async with within():
        before = sorted(still_open())
        async with APIServer() as server, aggregated.serving(aggregated.Things()) as remote:
            await server.client.create(registration(remote))
            async for event in server.client.watch(RESOURCE):
                conditions = event.object.get("status", {}).get("conditions", [{}])
                if conditions[0].get("reason") == "Passed":
                    break
        assert await left(before) == before
