"""A request ends when its client disconnects or its time is over, until a commit of it has begun.

After that, the write runs to its end: the next state is complete, with everything that belongs to
it.
"""

import asyncio
import json
import random

import boats
import pytest
from aiohttp import web
from endpoints import BUNDLE
from endpoints import serving as serving_webhook
from patience import within

from inkube import APIServer, Workloads
from inkube.apiserver.http.fast import versions
from inkube.apiserver.registry.lifetimes import Lifetime
from inkube.apiserver.subresources import containers

pytestmark = pytest.mark.usefixtures("each_loop")
MAPS = "/api/v1/namespaces/default/configmaps"
SERVICES = "/api/v1/namespaces/default/services"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
QUOTA = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "few", "namespace": "default"},
    "spec": {"hard": {"count/configmaps": "1000"}},
}


@pytest.fixture(params=["fast", "plain"], name="each_loop")
def _each_loop(request, monkeypatch):
    """With the faster event loop for connections, and with aiohttp's own."""
    if request.param == "plain":
        monkeypatch.setattr(versions, "TESTED", frozenset())


@pytest.fixture(params=["fast", "plain"])
async def server(request):
    async with APIServer(engine=request.param) as running:
        yield running


def named(kind, name, version="v1", **members):
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": version, "kind": kind, "metadata": meta, **members}


def written(method, path, body=None):
    data = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data


async def send_and_leave(server, request, turns=0):
    """Send a request, let the event loop run some turns, and disconnect."""
    _, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(request)
    for _ in range(turns):
        await asyncio.sleep(0)
    writer.close()
    await writer.wait_closed()


async def names(server, kind):
    """Return the objects by name, after the end of all connections."""
    tasks = [each for each in asyncio.all_tasks() if "Connection.start" in repr(each.get_coro())]
    async with within():
        await asyncio.gather(*tasks, return_exceptions=True)
    return {each["metadata"]["name"]: each for each in await server.client.list(kind, "default")}


async def test_a_client_that_leaves_at_once_writes_nothing(server):
    await server.client.create(named("ConfigMap", "kept"))
    kept = await names(server, "v1/configmaps")
    for number in range(20):
        sent = written("POST", MAPS, named("ConfigMap", f"c{number}"))
        await send_and_leave(server, sent)
        await send_and_leave(server, written("DELETE", f"{MAPS}/kept"))
        await send_and_leave(server, written("PUT", f"{MAPS}/kept", named("ConfigMap", "kept")))
    assert await names(server, "v1/configmaps") == kept


@pytest.mark.parametrize("seed", range(6))
async def test_a_client_that_leaves_at_any_moment_leaves_whole_states(server, seed):
    moments = random.Random(seed)
    await server.client.create(QUOTA)
    await server.settled()
    for number in range(30):
        name = f"c{moments.randrange(8)}"
        sent = moments.choice(
            [
                written("POST", MAPS, named("ConfigMap", name)),
                written("DELETE", f"{MAPS}/{name}"),
                written("POST", SERVICES, service(f"s{number}")),
                written("DELETE", f"{SERVICES}/s{moments.randrange(number + 1)}"),
            ]
        )
        await send_and_leave(server, sent, moments.randrange(25))
    maps = await names(server, "v1/configmaps")
    await server.settled()
    quota = await server.client.get("v1/resourcequotas", "few", "default")
    assert int(quota["status"]["used"]["count/configmaps"]) == len(maps)
    for number in range(10):
        await server.client.create(service(f"later{number}"))
    found = await server.client.list("v1/services", "")
    addresses = [each["spec"]["clusterIP"] for each in found]
    assert len(set(addresses)) == len(addresses)
    assert not any("deletionTimestamp" in each["metadata"] for each in [*maps.values(), *found])


def service(name):
    return named("Service", name, spec={"ports": [{"port": 80}]})


async def test_a_definition_that_is_stored_is_served(server):
    await server.client.create(definition("first.example"))  # loads what definitions need
    for turns in (*range(0, 60, 12), 300, 1000, 3000, 20_000):
        crd = definition(f"g{turns}.example")
        await send_and_leave(server, written("POST", CRDS, crd), turns)
    found = await names(server, "apiextensions.k8s.io/v1/customresourcedefinitions")
    await server.settled()
    assert len(found) > 1, "the last client stays long enough"
    for crd in found.values():
        assert list(await server.client.list(f"{crd['spec']['group']}/v1/boats", "default")) == []


def definition(group):
    return boats.definition({"type": "object"}, group=group)


async def test_a_deletion_of_many_ends_with_its_client(server):
    for number in range(300):
        await server.client.create(named("ConfigMap", f"c{number}"))
    await send_and_leave(server, written("DELETE", MAPS), 40)
    assert 0 < len(await names(server, "v1/configmaps")) < 300


@pytest.fixture
async def silent(server):
    """A webhook that never answers; yields an event for each call: set when the call has ended."""
    calls = asyncio.Queue()

    async def wait(request):
        ended = asyncio.Event()
        calls.put_nowait(ended)
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with serving_webhook(wait, handler_cancellation=True) as url:
        hook = {
            "name": "silent.example.com",
            "clientConfig": {"url": url, "caBundle": BUNDLE},
            "rules": [
                {
                    "apiGroups": [""],
                    "apiVersions": ["v1"],
                    "operations": ["CREATE"],
                    "resources": ["configmaps"],
                }
            ],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "timeoutSeconds": 30,
        }
        kind = "ValidatingWebhookConfiguration"
        configuration = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": "silent"},
            "webhooks": [hook],
        }
        await server.client.create(configuration)
        await server.settled()
        yield calls


async def test_a_call_of_a_webhook_ends_with_the_client(server, silent):
    _, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(written("POST", MAPS, named("ConfigMap", "c")))
    async with within():
        ended = await silent.get()
        writer.close()
        await ended.wait()
    assert await names(server, "v1/configmaps") == {}


async def test_a_timeout_ends_a_request(server, silent):
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(written("POST", f"{MAPS}?timeout=0.1s", named("ConfigMap", "c")))
    async with within():
        answer = await reader.readuntil(b"}\n")
    assert answer.startswith(b"HTTP/1.1 504")
    assert b"Content-Type: text/plain; charset=utf-8\r\n" in answer
    assert answer.endswith(
        b'\r\n\r\n{"metadata":{},"status":"Failure","message":"Timeout: request did not complete'
        b' within the allotted timeout","reason":"Timeout","details":{},"code":504}\n'
    )
    writer.close()
    await writer.wait_closed()
    assert await names(server, "v1/configmaps") == {}


@pytest.fixture
async def limit():
    async with asyncio.timeout(60) as entered:
        yield entered


async def test_a_started_commit_ends_neither_by_timeout_nor_by_disconnection(limit):
    lifetime = Lifetime(limit)
    lifetime.shorten(30)
    assert lifetime.consents()
    assert limit.when() is None
    assert not lifetime.abandon(), "it runs to its end"
    assert lifetime.consents(), "to a second commit of the same object"
    with pytest.raises(ConnectionResetError):
        lifetime.begin_write()


async def test_a_client_that_has_left_consents_to_nothing(limit):
    lifetime = Lifetime(limit)
    lifetime.begin_write()
    assert lifetime.abandon(), "the request is cancelled"
    assert not lifetime.consents()


async def test_the_next_object_has_the_time_that_is_left(limit):
    until = limit.when()
    lifetime = Lifetime(limit)
    assert lifetime.consents()
    lifetime.begin_write()
    assert limit.when() == until


async def left(server, request, began, ended):
    """Return once the work for a request has ended, after its client has left."""
    _, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(request)
    async with within():
        await began.wait()
        writer.close()
        await ended.wait()


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_request_to_a_service_ends_with_its_client(method):
    began, ended = asyncio.Event(), asyncio.Event()

    async def wait(request):
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    runner = web.ServerRunner(web.Server(wait, handler_cancellation=True))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    address = f"default/s=127.0.0.1:{runner.addresses[0][1]}"
    async with APIServer(service_addresses=[address]) as server:
        await server.client.create(service("s"))
        await left(server, written(method, f"{SERVICES}/s/proxy/"), began, ended)
    await runner.cleanup()


def upgrade(path):
    """Return the request of a WebSocket."""
    head = written("GET", path).partition(b"Content-Length")[0]
    return head + (
        b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
        b"Sec-WebSocket-Protocol: v4.channel.k8s.io\r\n\r\n"
    )


POD = "/api/v1/namespaces/default/pods/p"
STREAMS = {
    "log": written("GET", f"{POD}/log"),
    "followed log": written("GET", f"{POD}/log?follow=true"),
    "exec": upgrade(f"{POD}/exec?command=x&stdout=1"),
    "exec with input": upgrade(f"{POD}/exec?command=x&stdin=1&tty=1"),
    "attach": upgrade(f"{POD}/attach?stdout=1"),
    "portforward": upgrade(f"{POD}/portforward?ports=80"),
}


async def test_each_stream_of_a_container_ends_with_its_client(monkeypatch):
    began, ended = asyncio.Event(), asyncio.Event()

    async def wait(*_given):
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    class Kubelet:
        exec = attach = forward = staticmethod(wait)

        def answers(self, pod):
            return True

        def check_exec(self, pod, container):
            pass

        async def logs(self, pod, container, query):
            yield b"one\n"
            await wait()

    find = containers.PodStreams._kubelet_of
    kubelet = Kubelet()
    monkeypatch.setattr(
        containers.PodStreams, "_kubelet_of", lambda *given: find(*given) and kubelet
    )
    spec = {"nodeName": "kube-node-1", "containers": [{"name": "c", "image": "i"}]}
    async with APIServer(workloads=Workloads(controllers={"kubelet"})) as server:
        await server.client.create(named("Pod", "p", spec=spec))
        for request in STREAMS.values():
            began.clear()
            ended.clear()
            await left(server, request, began, ended)
