"""A write is freed when it ends, without the garbage collector: no part of it refers back to it.

A cycle in each write would keep its objects until a collection, and cause more collections.
"""

import gc
from collections.abc import Awaitable, Callable
from typing import Literal

import pytest

from inkube import APIServer

WRITES = 40
KIND = "v1/configmaps"


def config_map(number: int) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"a-{number}"}}


async def create(server: APIServer, number: int) -> object:
    return await server.client.create(config_map(number))


async def dry_run(server: APIServer, number: int) -> object:
    return await server.client.create(config_map(10_000 + number), dry_run=True)


async def update(server: APIServer, number: int) -> object:
    return await server.client.update({**config_map(1), "data": {"number": str(number)}})


async def patch(server: APIServer, number: int) -> object:
    return await server.client.patch(KIND, "a-1", patch={"data": {"number": str(-number)}})


async def apply(server: APIServer, number: int) -> object:
    changed = {**config_map(2), "data": {"number": str(number)}}
    return await server.client.patch(KIND, "a-2", patch=changed, type="apply", field_manager="me")


@pytest.mark.parametrize("write", [create, dry_run, update, patch, apply])
@pytest.mark.parametrize("engine", ["fast", "plain"])
async def test_writes_leave_nothing_to_the_garbage_collector(
    write: Callable[[APIServer, int], Awaitable[object]], engine: Literal["fast", "plain"]
) -> None:
    async with APIServer(controllers=False, engine=engine) as server:
        for number in range(3):
            await create(server, number)
        await write(server, 100)
        gc.collect()
        gc.disable()
        try:
            for number in range(WRITES):
                await write(server, 200 + number)
            assert gc.collect() < WRITES
        finally:
            gc.enable()
