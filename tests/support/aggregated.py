"""A small aggregated API server: things.things.example.com, in memory, with a watch and an echo."""

import asyncio
import json
import ssl
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import WSMsgType, web

from inkube.apiserver.auth import certificates, tls

GROUP, VERSION = "things.example.com", "v1beta1"
NAME = f"{VERSION}.{GROUP}"
PREFIX = f"/apis/{GROUP}/{VERSION}"
SERVER = certificates.make_server(["api.default.svc"])
_VERBS = ["create", "get", "list", "watch"]


class Things:
    """The state of the server, and the requests that it received."""

    def __init__(self, *, aggregated_discovery: bool = True) -> None:
        self.objects = []
        self.requests = []
        self.certificates = []
        self.failing = frozenset()
        """Paths that respond with 500."""
        self.hanging = frozenset()
        """Paths that never respond."""
        self._aggregated = aggregated_discovery
        self._changed = asyncio.Condition()
        self.app = web.Application()
        self.app.router.add_route("*", "/{path:.*}", self._answer)

    async def _answer(self, request):
        self.requests.append((request.method, request.rel_url.raw_path_qs, request.headers))
        if request.transport is not None:
            self.certificates.append(request.transport.get_extra_info("peercert"))
        path = request.path
        if path in self.hanging:
            await asyncio.Event().wait()
        if path in self.failing:
            return web.Response(status=500)
        if path == "/apis" and self._aggregated and "g=apidiscovery" in request.headers["Accept"]:
            media = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
            return web.Response(text=json.dumps(_discovery()), headers={"Content-Type": media})
        if path == "/apis":
            return web.json_response({"kind": "APIGroupList", "groups": []})
        if path == PREFIX:
            return web.json_response(_resource_list())
        if path == "/openapi/v3":
            url = f"/openapi/v3/apis/{GROUP}/{VERSION}?hash=ABC"
            other = {"serverRelativeURL": "/openapi/v3/apis/other/v1?hash=D"}
            index = {f"apis/{GROUP}/{VERSION}": {"serverRelativeURL": url}, "apis/other/v1": other}
            return web.json_response({"paths": index})
        if path == f"/openapi/v3/apis/{GROUP}/{VERSION}":
            return web.json_response({"openapi": "3.0.0", "info": {"title": "things"}})
        if path == "/openapi/v2":
            return web.json_response(_openapi_v2())
        if path == f"{PREFIX}/echo":
            return await _echo(request)
        if path == f"{PREFIX}/large":
            return await _large(request)
        if path == f"{PREFIX}/things":
            return await self._things(request)
        return web.json_response({"kind": "Status", "code": 404, "message": "mine"}, status=404)

    async def _things(self, request):
        if request.method == "POST":
            body = await request.json()
            async with self._changed:
                self.objects.append(body)
                self._changed.notify_all()
            return web.json_response(body, status=201, headers={"Warning": '299 - "mine"'})
        if request.query.get("watch"):
            return await self._watch(request)
        return web.json_response({"kind": "ThingList", "items": self.objects})

    async def _watch(self, request):
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        told = 0
        while True:
            async with self._changed:
                while len(self.objects) <= told:
                    await self._changed.wait()
            for one in self.objects[told:]:
                await response.write(b"ADDED " + one["metadata"]["name"].encode() + b"\n")
            told = len(self.objects)


async def _echo(request):
    socket = web.WebSocketResponse(protocols=["v4.channel.k8s.io"])
    await socket.prepare(request)
    async for message in socket:
        if message.type is WSMsgType.BINARY:
            await socket.send_bytes(message.data[::-1])
    return socket


async def _large(request):
    """Count the bytes of the request, and send as many back."""
    count = 0
    async for chunk in request.content.iter_any():
        count += len(chunk)
    response = web.StreamResponse()
    await response.prepare(request)
    for _ in range(count // 65536):
        await response.write(b"x" * 65536)
    return response


def _resource_list():
    thing: Any = {"name": "things", "singularName": "thing", "namespaced": False, "kind": "Thing"}
    status = {"name": "things/status", "singularName": "", "namespaced": False, "kind": "Thing"}
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{GROUP}/{VERSION}",
        "resources": [{**thing, "verbs": _VERBS}, {**status, "verbs": ["get"]}],
    }


def _discovery():
    kind = {"group": GROUP, "version": VERSION, "kind": "Thing"}
    thing: Any = {"resource": "things", "responseKind": kind, "scope": "Cluster", "verbs": _VERBS}
    thing["singularResource"] = "thing"
    thing["subresources"] = [{"subresource": "status", "responseKind": kind, "verbs": ["get"]}]
    version = {"version": VERSION, "resources": [thing], "freshness": "Current"}
    item = {"metadata": {"name": GROUP}, "versions": [version]}
    return {"kind": "APIGroupDiscoveryList", "items": [item]}


def _openapi_v2():
    thing = {"type": "object", "properties": {"spec": {"$ref": "#/definitions/Spec"}}}
    answer = {"description": "OK", "schema": {"$ref": "#/definitions/Thing"}}
    own = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"
    return {
        "swagger": "2.0",
        "paths": {
            f"{PREFIX}/things": {"get": {"responses": {"200": answer}}},
            "/apis/other/v1/": {"get": {"responses": {}}},
        },
        "definitions": {
            "Thing": thing,
            "Spec": {"type": "object", "properties": {"meta": {"$ref": f"#/definitions/{own}"}}},
            own: {"type": "object", "description": "another"},
            "Unused": {"type": "object"},
        },
    }


def context(authority=None):
    """Return a TLS context. With an authority (PEM), clients must present one of its
    certificates."""
    made = tls.context(SERVER)
    if authority is not None:
        made.load_verify_locations(cadata=authority)
        made.verify_mode = ssl.CERT_REQUIRED
    return made


@asynccontextmanager
async def serving(things, *, authority=None, port=0):
    """The port at which the server listens with TLS."""
    # a handler that hangs ends with its connection, and is not destroyed while it waits
    runner = web.AppRunner(things.app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, ssl_context=context(authority))
    await site.start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()
