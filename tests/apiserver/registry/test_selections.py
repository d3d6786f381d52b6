"""Frequent selectors use an index, with the same responses as without it."""

import asyncio
import random
from typing import Any

import pytest

from inkube import APIServer
from inkube.apiserver.registry import selections
from inkube.controllers.client import Selection

LABELS = ("a", "b", "")


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(selections, "MANY", 3)
    monkeypatch.setattr(selections, "SLICE", 2)
    async with APIServer(controllers=False) as server:
        yield server


def pod(name: str, label: str | None, node: str = "") -> dict[str, Any]:
    labels = {} if label is None else {"app": label}
    spec = {"containers": [{"name": "c", "image": "i"}], **({"nodeName": node} if node else {})}
    metadata = {"name": name, "namespace": "default", "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


async def names(server: APIServer, **selection: str) -> list[str]:
    found = await server.client.list("v1/pods", Selection(**selection))
    return [item["metadata"]["name"] for item in found.items]


def indexes(server: APIServer) -> list[Any]:
    return list(server.registry.selections._indexes.values())


async def indexed(server: APIServer, **selection: str) -> None:
    """Repeat the request until a complete index exists."""
    while not indexes(server) or not all(index.complete for index in indexes(server)):
        await names(server, **selection)
        await asyncio.sleep(0)


async def test_a_repeated_selector_is_indexed_and_follows_every_change(server: APIServer):
    kinds, expected = random.Random(1), dict[str, str | None]()
    for n in range(10):
        expected[f"p{n}"] = kinds.choice([*LABELS, None])
        await server.client.create(pod(f"p{n}", expected[f"p{n}"]))
    await indexed(server, labels="app=a")
    for step in range(60):
        name = f"p{kinds.randrange(14)}"
        label = kinds.choice([*LABELS, None])
        if name not in expected:
            await server.client.create(pod(name, label))
            expected[name] = label
        elif step % 3:
            patch = {"metadata": {"labels": {"app": label}}}
            await server.client.patch("v1/pods", name, "default", patch=patch)
            expected[name] = label
        else:
            await server.client.delete("v1/pods", name, "default")
            del expected[name]
        wanted = kinds.choice(LABELS)
        due = sorted(name for name, label in expected.items() if label == wanted)
        assert await names(server, labels=f"app={wanted}") == due
        both = sorted(name for name, label in expected.items() if label in ("a", "b"))
        assert await names(server, labels="app in (a,b)") == both
    assert len(indexes(server)) == 1


async def test_a_selectable_field_is_indexed_too(server: APIServer):
    for n in range(6):
        await server.client.create(pod(f"p{n}", "a", node=f"node{n % 2}"))
    await indexed(server, fields="spec.nodeName=node1")
    assert await names(server, fields="spec.nodeName=node1") == ["p1", "p3", "p5"]
    assert await names(server, fields="spec.nodeName=node1", namespace="other") == []
    await server.client.create(pod("p9", "a", node="node1"))
    assert await names(server, fields="spec.nodeName=node1") == ["p1", "p3", "p5", "p9"]


async def test_changes_during_the_creation_of_an_index_are_in_the_index(server: APIServer):
    for n in range(9):
        await server.client.create(pod(f"p{n}", "a"))
    await names(server, labels="app=a")
    await names(server, labels="app=a")  # starts the index
    (index,) = indexes(server)
    assert not index.complete
    await server.client.patch(
        "v1/pods", "p8", "default", patch={"metadata": {"labels": {"app": "b"}}}
    )
    await server.client.delete("v1/pods", "p7", "default")
    await indexed(server, labels="app=a")
    assert await names(server, labels="app=a") == [f"p{n}" for n in range(7)]
    assert await names(server, labels="app=b") == ["p8"]


async def test_no_more_indexes_are_kept_than_are_allowed(
    server: APIServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(selections, "MOST", 2)
    for n in range(4):
        await server.client.create(pod(f"p{n}", "a"))
    for key in ("app", "other", "third"):
        for _ in range(3):
            await names(server, labels=f"{key}=a")
    assert len(indexes(server)) == 2


async def test_large_objects_are_indexed_when_they_are_few(monkeypatch: pytest.MonkeyPatch):
    """The bytes count, because the JSON of each tested object is decoded."""
    monkeypatch.setattr(selections, "MANY", 100)
    async with APIServer(controllers=False) as server:
        for n in range(4):
            await server.client.create(pod(f"p{n}", "a"))
        for _ in range(3):
            await names(server, labels="app=a")
        assert not indexes(server)
        large = pod("large", "a")
        large["metadata"]["annotations"] = {"text": "x" * 200 * 1024}
        await server.client.create(large)
        await indexed(server, labels="app=a")
        assert await names(server, labels="app=a") == ["large", "p0", "p1", "p2", "p3"]
