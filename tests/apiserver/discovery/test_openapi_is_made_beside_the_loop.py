"""Other requests are served while the first OpenAPI documents are generated, which takes long."""

import asyncio
import threading
from typing import Any

import aiohttp
import pytest
from patience import SECONDS

from inkube import APIServer
from inkube.apiserver.registry.resources import DeferredKinds, Resources
from inkube.schemas.lazy import Lazy
from inkube.schemas.openapi import v3


class Gate:
    """Blocks a function in its thread until the test opens the gate."""

    def __init__(self, behind: Any) -> None:
        self.reached = threading.Event()
        self.opened = threading.Event()
        self._behind = behind

    def __call__(self, *args: Any) -> Any:
        self.reached.set()
        assert self.opened.wait(SECONDS), "nobody else was served"
        return self._behind(*args)


async def test_requests_are_served_while_openapi_v2_is_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gate = Gate(v3.merged)
    monkeypatch.setattr(v3, "merged", gate)
    async with APIServer() as server, aiohttp.ClientSession(server.url) as session:

        async def ask(path: str) -> int:
            async with session.get(path) as answer:
                await answer.read()
                return answer.status

        first = asyncio.create_task(ask("/openapi/v2"))
        second = asyncio.create_task(ask("/openapi/v2"))
        await asyncio.to_thread(gate.reached.wait, SECONDS)
        assert await ask("/api/v1/namespaces/default") == 200
        assert not first.done()
        gate.opened.set()
        assert [await first, await second] == [200, 200]


async def test_deferred_kinds_are_imported_before_they_are_loaded() -> None:
    resources, steps = Resources(), list[str]()

    async def prepare() -> None:
        await asyncio.sleep(0)
        steps.append("imported")

    install = Lazy(lambda: steps.append("loaded"))
    resources.defer(DeferredKinds(["example.com"], install, prepare, lambda: None))
    await resources.loaded()
    await resources.loaded()
    assert steps == ["imported", "loaded"]
