"""Field selectors of names and namespaces are tested with keys, in lists, pages and watches."""

import itertools
import json
import random
from typing import Any

import aiohttp
import pytest

from inkube import APIServer
from inkube.apiserver.registry.resource import Resource

KINDS = {"configmaps": ("default", "other"), "namespaces": ("",)}
"""The namespaces of the objects of two kinds."""
NAMES = ("a", "b", "other")


def terms_of(*fields: str) -> list[str]:
    values = ("a", "other", "default", "")
    places = itertools.product(fields, ("=", "!="), values)
    return [f"metadata.{''.join(each)}" for each in places]


TERMS = {"configmaps": terms_of("name", "namespace"), "namespaces": terms_of("name")}


@pytest.fixture
async def session() -> Any:
    async with (
        APIServer(controllers=False) as server,
        aiohttp.ClientSession(server.url) as session,
    ):
        for name in NAMES:
            await create(session, "namespaces", "", name)
        for namespace, name in itertools.product(KINDS["configmaps"], NAMES):
            await create(session, "configmaps", namespace, name)
        yield session


def path(plural: str, namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/{plural}" if namespace else f"/api/v1/{plural}"


async def create(session: aiohttp.ClientSession, plural: str, namespace: str, name: str) -> None:
    async with session.post(path(plural, namespace), json={"metadata": {"name": name}}) as answer:
        assert answer.status == 201, await answer.text()


async def listed(session: aiohttp.ClientSession, place: str, **query: str) -> list[dict[str, Any]]:
    """Return the metadata of all objects, of all pages."""
    found, token = [], ""
    while True:
        async with session.get(place, params={**query, "continue": token}) as answer:
            page = await answer.json()
            assert answer.status == 200, page
        found += [each["metadata"] for each in page["items"]]
        token = page["metadata"].get("continue", "")
        if not token:
            return found


def is_selected(metadata: dict[str, Any], terms: list[str]) -> bool:
    for term in terms:
        field, _, value = term.replace("!=", "=").partition("=")
        found = metadata.get(field.removeprefix("metadata."), "")
        if (found == value) is ("!=" in term):
            return False
    return True


async def test_names_and_namespaces_select_the_same_objects_as_their_metadata(session):
    choice = random.Random(1)
    for plural, namespaces in KINDS.items():
        for namespace in ("", *namespaces):
            place = path(plural, namespace)
            every = await listed(session, place)
            for _ in range(30):
                terms = choice.sample(TERMS[plural], choice.choice([1, 1, 2, 3]))
                expected = [each for each in every if is_selected(each, terms)]
                for query in ({}, {"limit": "2"}, {"resourceVersion": "0"}):
                    found = await listed(session, place, fieldSelector=",".join(terms), **query)
                    assert found == expected, (place, terms, query)


@pytest.mark.parametrize("namespace", ["", "default"])
@pytest.mark.parametrize("selector", ["metadata.name!=a", "metadata.namespace!=other"])
@pytest.mark.parametrize("query", [{}, {"limit": "2"}])
async def test_names_and_namespaces_are_selected_without_objects(
    session, monkeypatch, namespace, selector, query
):
    views = []
    view = Resource.view

    def seen(self: Resource, entry: Any, served: Any) -> Any:
        views.append(entry.key)
        return view(self, entry, served)

    monkeypatch.setattr(Resource, "view", seen)
    found = await listed(session, path("configmaps", namespace), fieldSelector=selector, **query)
    assert found
    assert views == []
    await listed(session, path("configmaps", namespace), labelSelector="a=b")
    assert views  # as every other selector


async def test_a_watch_tests_them_with_keys(session):
    query = {"watch": "true", "fieldSelector": "metadata.namespace!=other,metadata.name!=b"}
    async with session.get("/api/v1/configmaps", params=query) as answer:
        for namespace in ("other", "default"):
            await create(session, "configmaps", namespace, "c")
        found: list[tuple[str, str]] = []
        while ("default", "c") not in found:
            metadata = json.loads(await answer.content.readline())["object"]["metadata"]
            found.append((metadata["namespace"], metadata["name"]))
    found = [each for each in found if each[0] != "kube-system"]  # those of the server itself
    assert found == [("default", "a"), ("default", "other"), ("default", "c")]
