"""Registry, discovery and OpenAPI follow a kind's definition, whichever type of kind it is."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from importlib import import_module
from typing import Any

import aiohttp
import boats
import pytest
from patience import within

from inkube import APIServer
from inkube.apiserver.discovery import groups
from inkube.apiserver.registry import preparation
from inkube.apiserver.registry.resource import Resource
from inkube.controllers.endpoints import Reply, Subresource
from inkube.controllers.kinds import KindModule
from inkube.schemas import crds, definitions, releases
from inkube.schemas.builtin import lookup, resources, served
from inkube.schemas.builtin.kinddefinitions import by_name
from inkube.schemas.crds import definition
from inkube.schemas.crds.definition import to_definition
from inkube.schemas.definitions import Definition, Version
from inkube.schemas.models import Model
from inkube.schemas.models import Resource as Kind
from inkube.schemas.openapi import paths

builtin_definitions = import_module("inkube.schemas.builtin.kinddefinitions")
"""The module, because the room exports a function of the same name."""
VERBS = ("create", "delete", "get", "list")
LOOK = definitions.Subresource("look", "Look", verbs=("get",))


def changed(definition: Definition) -> Definition:
    """Return a copy with other verbs, another subresource and another flag."""
    versions = tuple(
        Version(each.name, schema=each.schema, subresources=(LOOK,)) for each in definition.versions
    )
    returns = not definition.returns_deleted
    return replace(definition, verbs=VERBS, returns_deleted=returns, versions=versions)


def builtin() -> Resource:
    definition = changed(by_name()["", "configmaps"])
    return Resource(definition, lambda: lookup.strategy_of("", "configmaps"), serve=served.of)


def custom() -> Resource:
    names = {"kind": "Boat", "plural": "boats"}
    version = {"name": "v1", "served": True, "storage": True}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    crd = {"metadata": {"name": "boats.example.com"}, "spec": spec, "status": {}}
    return Resource(changed(to_definition(crd)), crds.CustomStrategy)


class SloopSpec(Model):
    sails: int = 1


class Sloop(Kind, group="own.example", version="v1", verbs=VERBS):
    spec: SloopSpec = SloopSpec()


async def look(question: Any, env: Any) -> Reply:
    return Reply({"kind": "Look"})


DECLARED = KindModule(
    Sloop, returns_deleted=True, subresources=[Subresource("look", look, kind="Look")]
)


@pytest.mark.parametrize(
    ("make", "group_version", "plural", "kind", "returned"),
    [
        (builtin, "v1", "configmaps", "ConfigMap", "ConfigMap"),
        (custom, "example.com/v1", "boats", "Boat", "Boat"),
        (None, "own.example/v1", "sloops", "Sloop", "Sloop"),
    ],
    ids=["built in", "custom", "declared in Python"],
)
async def test_requests_discovery_and_openapi_agree_on_the_verbs_of_a_kind(
    make: Callable[[], Resource] | None,
    group_version: str,
    plural: str,
    kind: str,
    returned: str,
) -> None:
    root = f"api/{group_version}" if "/" not in group_version else f"apis/{group_version}"
    place = f"/{root}/namespaces/default/{plural}"
    obj = {"apiVersion": group_version, "kind": kind, "metadata": {"name": "a"}}
    async with APIServer(controllers=False, kinds=[DECLARED]) as server:
        if make is not None:
            server.resources.install(make())
        async with aiohttp.ClientSession(server.url) as session:

            async def ask(method: str, path: str, body: Any = None) -> Any:
                async with session.request(method, path, json=body) as answer:
                    return await answer.json(content_type=None)

            assert (await ask("POST", place, obj))["kind"] == kind
            assert (await ask("DELETE", place))["code"] == 405
            assert (await ask("DELETE", f"{place}/a"))["kind"] == returned
            listed = {each["name"]: each for each in (await ask("GET", f"/{root}"))["resources"]}
            document = await ask("GET", f"/openapi/v3/{root}")
    assert tuple(listed[plural]["verbs"]) == VERBS
    assert listed[f"{plural}/look"]["kind"] == "Look"
    assert listed[f"{plural}/look"]["verbs"] == ["get"]
    paths = document["paths"]
    inside = f"/{root}/namespaces/{{namespace}}/{plural}"
    assert "delete" not in paths[inside]
    assert "get" in paths[f"{inside}/{{name}}/look"]
    deleted = paths[f"{inside}/{{name}}"]["delete"]["responses"]["200"]["content"]
    assert {each["schema"]["$ref"].rpartition(".")[2] for each in deleted.values()} == {returned}


@dataclass(frozen=True, slots=True, eq=False)
class MarkedDefinition(Definition):
    """A definition with a new flag."""

    is_marked: bool = False


@dataclass(frozen=True)
class MarkedModule(KindModule[Sloop]):
    """A `KindModule` with that flag."""

    is_marked: bool = False


def read_the_flag(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let registry, discovery and OpenAPI read the new flag."""
    before_create, api_resources = preparation.before_create, groups._api_resources
    path_items = paths.paths

    def is_marked(definition: Definition) -> bool:
        return getattr(definition, "is_marked", False)

    def prepare(write: Any) -> None:
        before_create(write)
        if is_marked(write.request.resource.definition):
            write.object["metadata"]["annotations"] = {"marked": "true"}

    def listed(definition: Definition, version: str) -> Any:
        for each in api_resources(definition, version):
            yield {**each, "categories": ["marked"]} if is_marked(definition) else each

    def documented(definition: Definition, version: str) -> Any:
        items = path_items(definition, version)
        return {path: {**items[path], "x-marked": is_marked(definition)} for path in items}

    monkeypatch.setattr(preparation, "before_create", prepare)
    monkeypatch.setattr(groups, "_api_resources", listed)
    monkeypatch.setattr(paths, "paths", documented)


def add_builtin(server: APIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Add kinds to the index of built-in kinds; the second has the flag."""
    monkeypatch.setattr(builtin_definitions, "Definition", MarkedDefinition)
    for line in (
        "events.k8s.io v1 plains Plain N - - all - -",
        "events.k8s.io v1 marks Mark N - - all is_marked -",
    ):
        kind = builtin_definitions._definition(resources._resource(line), releases.NEWEST.minor)
        accept = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        versions = tuple(Version(each.name, schema=accept) for each in kind.versions)
        kind = replace(kind, versions=versions)
        server.resources.install(Resource(kind, crds.CustomStrategy))


def add_custom(server: APIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the spec of a CRD set the flag."""

    def read(**members: Any) -> Definition:
        return MarkedDefinition(**members, is_marked=members["names"].plural == "marks")

    monkeypatch.setattr(definition, "Definition", read)


def crd(kind: str) -> dict[str, Any]:
    return boats.definition({"type": "object"}, kind)


def declared_kinds() -> list[KindModule[Any]]:
    """Return two kinds with one model each. Both definitions have the flag; the second sets it."""

    class Plain(Kind, group="own.example", version="v1"):
        spec: SloopSpec = SloopSpec()

    class Mark(Kind, group="own.example", version="v1"):
        spec: SloopSpec = SloopSpec()

    for model in (Plain, Mark):
        known = {each.name: getattr(model.definition, each.name) for each in fields(Definition)}
        model.definition = MarkedDefinition(**known)
    return [KindModule(Plain), MarkedModule(Mark, is_marked=True)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sort", "group"),
    [("built in", "events.k8s.io"), ("custom", "example.com"), ("declared", "own.example")],
)
async def test_a_new_flag_is_read_by_all_that_read_definitions(
    sort: str, group: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_the_flag(monkeypatch)
    kinds = declared_kinds() if sort == "declared" else []
    async with APIServer(kinds=kinds) as server, within():
        if sort == "built in":
            add_builtin(server, monkeypatch)
        elif sort == "custom":
            add_custom(server, monkeypatch)
            for kind in ("Plain", "Mark"):
                await server.client.create(crd(kind))
            await server.settled()
        async with aiohttp.ClientSession(server.url) as session:
            root = f"/apis/{group}/v1"
            annotations = {}
            for kind in ("Plain", "Mark"):
                obj = {"apiVersion": f"{group}/v1", "kind": kind, "metadata": {"name": "a"}}
                place = f"{root}/namespaces/default/{kind.lower()}s"
                async with session.post(place, json=obj) as answer:
                    made = await answer.json()
                annotations[kind] = made["metadata"].get("annotations")
            async with session.get(root) as answer:
                found = (await answer.json())["resources"]
            async with session.get(f"/openapi/v3{root}") as answer:
                document = (await answer.json())["paths"]
    categories = {each["kind"]: each.get("categories") for each in found}
    marked = {
        kind: document[f"{root}/namespaces/{{namespace}}/{kind.lower()}s/{{name}}"]["x-marked"]
        for kind in ("Plain", "Mark")
    }
    assert annotations == {"Plain": None, "Mark": {"marked": "true"}}
    assert (categories["Plain"], categories["Mark"]) == (None, ["marked"])
    assert marked == {"Plain": False, "Mark": True}
