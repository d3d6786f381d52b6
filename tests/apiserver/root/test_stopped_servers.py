"""A stopped server is freed at once: a run of tests starts thousands in one process.

Objects in reference cycles wait for the garbage collector, which then takes a quarter of the time
of a test with its own server.
"""

import gc
import weakref
from collections.abc import Iterator

import pytest

import inkube

OBJECT = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}


@pytest.fixture
def no_collection() -> Iterator[None]:
    """The garbage collector does not run."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collection")
async def test_the_large_parts_of_a_stopped_server_are_freed_without_the_collector():
    server = inkube.APIServer()
    async with server:
        await server.client.create(OBJECT)
        core = server.parts.core
        parts = {
            "registry": core.registry,
            "admission": core.registry.chain,
            "kinds": core.resources,
            "controllers": core.manager,
            "informers": core.manager.informers,
            "client": server.client,
            "streams": server.streams,
        }
        alive = {name: weakref.ref(part) for name, part in parts.items()}
        del core, parts
    del server
    assert [name for name, part in alive.items() if part() is not None] == []
