"""One in-memory server per test module, and helpers to send requests to it."""

import contextlib
import io
import json
import logging
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import aiohttp
import boats
import pytest
import pytest_asyncio
from patience import SECONDS
from yarl import URL

from inkube import APIServer

BOATS = "/apis/example.com/v1/namespaces/default/boats"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
BOAT_CRD = boats.definition(
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "x-kubernetes-validations": [{"rule": "!has(self.size) || self.size < 1000"}],
                "properties": {
                    "replicas": {"type": "integer", "default": 1, "maximum": 100},
                    "size": {"type": "number"},
                    "name": {"type": "string", "pattern": "^[a-z]*$"},
                    "any": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    },
                    "crew": {
                        "type": "array",
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["name"],
                        "items": {
                            "type": "object",
                            "required": ["name"],
                            "properties": {
                                "name": {"type": "string"},
                                "port": {"x-kubernetes-int-or-string": True},
                            },
                        },
                    },
                },
            },
            "status": {
                "type": "object",
                "properties": {
                    "replicas": {"type": "integer"},
                    "selector": {"type": "string"},
                },
            },
        },
    },
    names={"singular": "boat", "listKind": "BoatList"},
    subresources={
        "status": {},
        "scale": {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        },
    },
)


@dataclass(frozen=True)
class Answer:
    """A response with its whole body."""

    code: int
    headers: Any
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def warnings(self) -> list[str]:
        return self.headers.getall("Warning", [])


class Web:
    """A client that sends exactly the given bytes."""

    def __init__(self, server: APIServer, session: aiohttp.ClientSession) -> None:
        self.server = server
        self._session = session

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """Send a request. `Content_Type="…"` is a header; a body that is not bytes is sent as
        JSON."""
        url = URL(self.server.url + path, encoded=True)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        if "Content-Type" not in named and data is not None:
            named["Content-Type"] = "application/json"
        stream = None if data is None else io.BytesIO(data)
        async with self._session.request(
            method, url, data=stream, headers=named, skip_auto_headers=["Content-Type"]
        ) as answer:
            return Answer(answer.status, answer.headers, await answer.read())

    async def patch(self, path: str, body: Any, kind: str = "merge") -> Answer:
        """PATCH with the short name of the patch type."""
        media = f"application/{kind}-patch+{'yaml' if kind == 'apply' else 'json'}"
        return await self.ask("PATCH", path, body, Content_Type=media)


@pytest.fixture(scope="module")
def engine() -> str:
    """The engine of writes; the tests of the registry replace it."""
    return os.environ.get("INKUBE_ENGINE", "fast")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(engine):
    """A server with the kind Boat."""
    async with APIServer() as server:
        await server.client.create(BOAT_CRD)
        await server.settled()
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def web(server):
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(SECONDS)) as session:
        yield Web(server, session)


@pytest.fixture
def web_of():
    """`async with web_of(server) as web`: a client of another server than the module's."""

    @contextlib.asynccontextmanager
    async def make(server: APIServer) -> AsyncIterator[Web]:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(SECONDS)) as session:
            yield Web(server, session)

    return make


@pytest.fixture(autouse=True)
def _no_unhandled_errors(caplog):
    """Fail the test if the server logged an unexpected error."""
    yield
    errors = [r for r in caplog.get_records("call") if r.levelno >= logging.ERROR]
    assert not errors, "\n".join(logging.Formatter().format(record) for record in errors)


@pytest.fixture(scope="session")
def boat_crd():
    return BOAT_CRD


@pytest.fixture
def boat():
    """`boat("a", size=3)`: the body of a Boat."""

    def make(name: str, **spec: Any) -> dict[str, Any]:
        head = {"apiVersion": "example.com/v1", "kind": "Boat"}
        return {**head, "metadata": {"name": name, "namespace": "default"}, "spec": spec}

    return make


@pytest.fixture
def config_map():
    """`config_map("a", key="value")`: the body of a ConfigMap."""

    def make(name: str, **data: str) -> dict[str, Any]:
        head = {"apiVersion": "v1", "kind": "ConfigMap"}
        return {**head, "metadata": {"name": name, "namespace": "default"}, "data": data}

    return make
