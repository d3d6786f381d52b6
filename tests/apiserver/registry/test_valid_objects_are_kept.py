"""Objects that are valid by the table of rules are stored and returned unchanged, for each kind."""

from typing import Any

import pytest
import validstructs

from inkube.schemas.builtin import lookup
from inkube.schemas.builtin.kinddefinitions import by_name
from inkube.schemas.builtin.rules.kinds import name_of
from inkube.schemas.builtin.strategies.base import BuiltinStrategy
from inkube.schemas.definitions import Definition
from inkube.schemas.objects import Object

NOT_COMPARED = ("metadata", "status")


def group_version(definition: Definition) -> str:
    version = definition.storage_version.name
    return f"{definition.group}/{version}" if definition.group else version


def valid(definition: Definition) -> Object | None:
    """Return a valid object of a kind by the table of rules; None if none is found."""
    metadata = {"name": "kept", **({"namespace": "default"} if definition.namespaced else {})}
    return validstructs.find(name_of(group_version(definition), definition.names.kind), metadata)


def is_judged_by_the_table(definition: Definition) -> bool:
    """Return whether the kind's strategy has no checks of its own."""
    strategy = type(lookup.strategy_of(definition.group, definition.names.plural))
    return all(
        getattr(strategy, hook) is getattr(BuiltinStrategy, hook) for hook in ("check", "validate")
    )


STORED = [
    definition
    for definition in by_name().values()
    if {"create", "get"} <= set(definition.verbs) and is_judged_by_the_table(definition)
]
FOUND = {
    definition.names.plural + "." + definition.group: (definition, found)
    for definition in STORED
    if (found := valid(definition)) is not None and found["metadata"]["name"] == "kept"
}


def test_most_kinds_have_a_valid_object():
    assert len(FOUND) > 0.8 * len(STORED)


def missing(sent: Any, kept: Any, path: str = "") -> list[str]:
    """Return the paths of sent members that were not stored."""
    if isinstance(sent, dict):
        if not isinstance(kept, dict):
            return [path] if sent else []
        return [
            place
            for key, value in sent.items()
            for place in missing(value, kept.get(key), f"{path}.{key}")
        ]
    if isinstance(sent, list) and isinstance(kept, list) and len(sent) == len(kept):
        pairs = zip(sent, kept, strict=True)
        return [
            place for at, (a, b) in enumerate(pairs) for place in missing(a, b, f"{path}[{at}]")
        ]
    return [] if sent == kept or (not sent and not kept) else [path]


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", FOUND)
async def test_a_valid_object_is_kept(web, name):
    definition, found = FOUND[name]
    version = group_version(definition)
    root = f"/apis/{version}" if definition.group else f"/api/{version}"
    place = f"{root}/namespaces/default" if definition.namespaced else root
    path = f"{place}/{definition.names.plural}"
    answer = await web.ask("POST", path, found)
    assert answer.code == 201, answer.json["message"]
    answer = await web.ask("GET", f"{path}/{found['metadata']['name']}")
    sent = {k: v for k, v in found.items() if k not in NOT_COMPARED}
    assert missing(sent, answer.json) == []
