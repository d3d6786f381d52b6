"""Real servers for tests of controllers: their client, their kinds, a clock that tests control."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from inkube import APIServer
from inkube.controllers.clock import FakeClock

NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}}


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def running(clock):
    """`async with running(*kinds, option=…) as server`: an offline server with a namespace `ns`."""

    @asynccontextmanager
    async def run(*kinds, **options):
        options = {"clock": clock, "offline": True, **options}
        async with APIServer(kinds=kinds, **options) as server:
            await server.client.create(NAMESPACE)
            yield server

    return run


@pytest.fixture
async def server(running):
    """A server without the built-in controllers; tests start the ones they need."""
    async with running(controllers=False) as made:
        yield made


@pytest.fixture
def client(server):
    """Its client."""
    return server.client


@pytest.fixture
def until():
    """Run the event loop until a condition holds, for a maximum number of iterations."""

    async def wait(is_so):
        for _ in range(20_000):
            if await is_so() if asyncio.iscoroutinefunction(is_so) else is_so():
                return
            await asyncio.sleep(0)
        pytest.fail("did not happen")

    return wait
