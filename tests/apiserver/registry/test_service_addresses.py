"""Cluster IPs and node ports of services on a server: never allocated twice."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from inkube import APIServer
from inkube.schemas.status import StatusError

SERVICES = "v1/services"
PORTS = range(30_000, 32_768)


def service(name: str, *, port: int = 0, kind: str = "NodePort") -> dict[str, Any]:
    ports = [{"port": 80, **({"nodePort": port} if port else {})}]
    metadata = {"name": name, "namespace": "default"}
    spec = {"type": kind, "ports": ports}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def port_of(stored: dict[str, Any]) -> int:
    number: int = stored["spec"]["ports"][0]["nodePort"]
    return number


async def create(server: APIServer, obj: dict[str, Any]) -> Any:
    """Return the stored object, or the error."""
    try:
        return await server.client.create(obj)
    except StatusError as error:
        return error


async def test_of_3000_services_without_a_port_as_many_get_one_as_there_are() -> None:
    async with APIServer(controllers=False) as server:
        made = []
        for start in range(0, 3_000, 200):  # 200 at once
            batch = (service(f"s{start + index}") for index in range(200))
            made += await asyncio.gather(*(create(server, each) for each in batch))
        refused = [each for each in made if isinstance(each, StatusError)]
        stored = [each for each in made if not isinstance(each, StatusError)]
        assert sorted(map(port_of, stored)) == list(PORTS)
        assert len({each["spec"]["clusterIP"] for each in stored}) == len(stored)
        assert {(error.code, error.reason, error.message) for error in refused} == {
            (
                500,
                "InternalError",
                "Internal error occurred: failed to allocate a nodePort: range is full",
            )
        }
        await server.client.delete(SERVICES, stored[7]["metadata"]["name"], "default")
        again = await server.client.create(service("late"))
        assert port_of(again) == port_of(stored[7])


async def test_a_refused_service_holds_nothing() -> None:
    async with APIServer(controllers=False) as server:
        taken = await server.client.create(service("a", port=30_100))
        for obj in (
            service("a", port=30_200),  # exists
            service("Not-A-Label", port=30_200),
            {**service("b", port=30_200), "spec": {"type": "NodePort", "ports": []}},
        ):
            with pytest.raises(StatusError):
                await server.client.create(obj)
        with pytest.raises(StatusError, match="provided port is already allocated"):
            await server.client.create(service("b", port=port_of(taken)))
        assert port_of(await server.client.create(service("b", port=30_200))) == 30_200


async def test_a_dry_run_holds_nothing() -> None:
    async with APIServer(controllers=False) as server:
        rehearsed = await server.client.create(service("a", port=30_300), dry_run=True)
        assert port_of(rehearsed) == 30_300
        assert port_of(await server.client.create(service("b", port=30_300))) == 30_300


async def test_a_port_that_an_update_gives_up_is_free() -> None:
    async with APIServer(controllers=False) as server:
        await server.client.create(service("a", port=30_400))
        patch = {"spec": {"ports": [{"port": 80, "nodePort": 30_401}]}}
        await server.client.patch(SERVICES, "a", "default", patch=patch)
        assert port_of(await server.client.create(service("b", port=30_400))) == 30_400
        with pytest.raises(StatusError, match="provided port is already allocated"):
            await server.client.create(service("c", port=30_401))


async def test_a_server_that_starts_again_knows_what_is_allocated(tmp_path: Path) -> None:
    options: dict[str, Any] = {"data": tmp_path / "inkube.db", "durable": False}
    async with APIServer(controllers=False, **options) as server:
        first = [await server.client.create(service(f"a{index}")) for index in range(50)]
    async with APIServer(controllers=False, **options) as server:
        with pytest.raises(StatusError, match="provided port is already allocated"):
            await server.client.create(service("b", port=port_of(first[0])))
        second = [await server.client.create(service(f"b{index}")) for index in range(50)]
    assert len({*map(port_of, first), *map(port_of, second)}) == 100


@pytest.fixture(params=["file", "postgresql"])
async def pair(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[tuple[APIServer, APIServer]]:
    if request.param == "file":
        options: dict[str, Any] = {"data": tmp_path / "inkube.db", "durable": False}
    else:
        options = {"database": await request.getfixturevalue("cluster").database()}
    async with contextlib.AsyncExitStack() as stack:
        servers = [
            await stack.enter_async_context(APIServer(controllers=False, **options))
            for _ in range(2)
        ]
        yield servers[0], servers[1]


async def test_two_servers_on_one_log_never_give_the_same(
    pair: tuple[APIServer, APIServer],
) -> None:
    """Both choose from the last free ports at the same time, so they often choose the same."""
    one = pair[0]
    free = PORTS[-40:]
    for start in range(0, len(PORTS) - len(free), 200):
        ports = PORTS[start : min(start + 200, len(PORTS) - len(free))]
        await asyncio.gather(*(one.client.create(service(f"s{port}", port=port)) for port in ports))
    made = await asyncio.gather(
        *(create(each, service(f"{at}-{n}")) for n in range(30) for at, each in enumerate(pair, 1)),
        return_exceptions=False,
    )
    stored = [each for each in made if not isinstance(each, StatusError)]
    assert sorted(map(port_of, stored)) == list(free)
    codes = [each.code for each in made if isinstance(each, StatusError)]
    assert codes == [500] * 20


async def test_of_two_servers_that_allocate_one_node_port_one_refuses(
    pair: tuple[APIServer, APIServer],
) -> None:
    for number in range(30_010, 30_030):
        made = await asyncio.gather(
            *(
                create(server, service(f"s{number}-{index}", port=number))
                for index, server in enumerate(pair)
            )
        )
        (refused,) = [each for each in made if isinstance(each, StatusError)]
        assert refused.code == 422
        assert "provided port is already allocated" in refused.message
