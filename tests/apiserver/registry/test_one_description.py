"""What a kind's definition says is what registry, discovery and OpenAPI do, whatever sort it is."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import aiohttp
import pytest

from inkube import APIServer
from inkube.apiserver.registry.resources import Resource
from inkube.controllers.endpoints import Reply, Subresource
from inkube.controllers.kinds import KindModule
from inkube.schemas import crds, definitions
from inkube.schemas.builtin import served, strategies
from inkube.schemas.builtin.definitions import by_name
from inkube.schemas.crds.definition import to_definition
from inkube.schemas.definitions import Definition, Version
from inkube.schemas.models import Model
from inkube.schemas.models import Resource as Kind

VERBS = ("create", "delete", "get", "list")
LOOK = definitions.Subresource("look", "Look", verbs=("get",))


def changed(definition: Definition) -> Definition:
    """The same with other verbs, another subresource and another flag."""
    versions = tuple(
        Version(each.name, schema=each.schema, subresources=(LOOK,)) for each in definition.versions
    )
    returns = not definition.returns_deleted
    return replace(definition, verbs=VERBS, returns_deleted=returns, versions=versions)


def builtin() -> Resource:
    definition = changed(by_name()["", "configmaps"])
    return Resource(definition, lambda: strategies.of("", "configmaps"), serve=served.of)


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
async def test_a_definition_is_what_is_done_told_and_documented(
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
