"""What a server has opened ends with the server: sessions, transports, tasks and threads."""

import asyncio
import contextlib
import gc
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import aggregated
import aiohttp
import pytest
from aggregated import GROUP, NAME, PREFIX
from aiohttp import web
from patience import within

from inkube import APIServer
from inkube.controllers.core.apiservices import RESOURCE

TURNS = 10
"""Turns of the event loop until the last closed transport is gone."""
LOCAL = "v1.local.example.com"
SERVICES = "/api/v1/namespaces/default/services"


def still_open() -> Iterator[str]:
    """Yield each open session and transport, each task and each thread, without the daemons that
    libraries start once in a process."""
    gc.collect()
    for each in gc.get_objects():
        kind = type(each)
        if issubclass(kind, aiohttp.ClientSession):
            is_open = not each.closed
        else:
            is_open = issubclass(kind, asyncio.Transport) and not each.is_closing()
        if is_open:
            yield f"{kind.__name__} {id(each):x}"
    yield from (f"task {task.get_name()}" for task in asyncio.all_tasks())
    yield from (f"thread {each.name}" for each in threading.enumerate() if not each.daemon)


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


@pytest.mark.parametrize("is_cut", [False, True])
async def test_a_stopped_server_leaves_nothing_open(is_cut: bool) -> None:
    """With `is_cut`, its clients have disconnected before."""
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
            if is_cut:
                await session.close()
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


async def left(before: list[str]) -> list[str]:
    """Return what is open, after the turns in which the last closed transports go."""
    for _ in range(TURNS):
        found = sorted(still_open())
        if found == before:
            break
        await asyncio.sleep(0)
    return found
