"""Objects of each kind that are valid by the table of rules are stored and returned unchanged, also
if an update adds empty lists and maps, which Go reads but does not encode."""

import copy
import random
from typing import Any

import pytest
import validstructs

from inkube.schemas.builtin import lookup
from inkube.schemas.builtin.kinddefinitions import by_name
from inkube.schemas.builtin.rules.kinds import name_of
from inkube.schemas.builtin.strategies.base import BuiltinStrategy
from inkube.schemas.definitions import Definition
from inkube.schemas.gotypes import GoType, table, types
from inkube.schemas.objects import Object

NOT_COMPARED = ("metadata", "status")
SAMPLES = 3
"""Updates of an object by empty members."""


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


def path_of(definition: Definition) -> str:
    version = group_version(definition)
    root = f"/apis/{version}" if definition.group else f"/api/{version}"
    place = f"{root}/namespaces/default" if definition.namespaced else root
    return f"{place}/{definition.names.plural}"


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", FOUND)
async def test_a_valid_object_is_kept(web, name):
    definition, found = FOUND[name]
    path = path_of(definition)
    answer = await web.ask("POST", path, found)
    assert answer.code == 201, answer.json["message"]
    answer = await web.ask("GET", f"{path}/{found['metadata']['name']}")
    sent = {k: v for k, v in found.items() if k not in NOT_COMPARED}
    assert missing(sent, answer.json) == []


Place = tuple[str | int, ...]


def missing_empties(go: GoType, value: Any, path: Place = ()) -> list[tuple[Place, Any]]:
    """Return the paths of lists and maps that a value lacks and Go does not encode, with the empty
    value of each."""
    if go.kind == "struct":
        found: list[tuple[Place, Any]] = [
            ((*path, key), {"list": [], "map": {}}[known.type.kind])
            for key, known in go.fields.items()
            if known.type.kind in ("list", "map") and key not in value and not known.always
        ]
        for key in go.fields.keys() & value.keys() - (
            {"metadata", "status"} if not path else set()
        ):
            found += missing_empties(go.fields[key].type, value[key], (*path, key))
        return found
    if go.item is None or not isinstance(value, list | dict):
        return []
    inner = enumerate(value) if isinstance(value, list) else value.items()
    return [each for key, item in inner for each in missing_empties(go.item, item, (*path, key))]


def with_empty(obj: Object, chosen: list[tuple[Place, Any]]) -> Object:
    changed = copy.deepcopy(obj)
    for (*path, member), empty in chosen:
        holder: Any = changed
        for key in path:
            holder = holder[key]
        holder[member] = empty
    return changed


def is_compared_whole(schema: Object, path: Place) -> bool:
    """Return whether a place is inside a list that structured-merge-diff compares by
    reflect.DeepEqual: it is atomic, or inside an atomic value."""
    is_atomic = False
    for step in path[:-1]:
        is_atomic |= schema.get("x-kubernetes-map-type") == "atomic"
        if isinstance(step, str):
            schema = schema.get("properties", {}).get(step) or schema["additionalProperties"]
            continue
        kind = schema.get("x-kubernetes-list-type", "")
        strategy = schema.get("x-kubernetes-patch-strategy", "")
        if is_atomic or not (kind in ("map", "set") or (not kind and "merge" in strategy)):
            return True
        schema = schema["items"]
    return False


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", FOUND)
async def test_empty_members_are_seen_only_where_go_values_are_compared(web, name):
    definition, found = FOUND[name]
    path, version = path_of(definition), definition.storage_version
    await web.ask("POST", path, found)
    stored = (await web.ask("GET", f"{path}/kept")).json
    kind = table.table().of(definition.gvk(version.name))
    assert kind, "built-in kinds have a type"
    possible = missing_empties(types.of(kind), stored)
    chance = random.Random(name)
    for _ in range(SAMPLES if possible else 0):
        chosen = chance.sample(possible, min(2, len(possible)))
        sent = with_empty(stored, chosen)
        answer = await web.ask("PUT", f"{path}/kept?dryRun=All&fieldManager=law", sent)
        if answer.code == 422:  # an empty value can be invalid
            continue
        assert answer.code == 200, answer.json
        places = [place for place, _ in chosen]
        new, old = answer.json["metadata"], stored["metadata"]
        owned = [each for each in new.get("managedFields", ()) if each["manager"] == "law"]
        fields = {key.removeprefix("f:") for each in owned for key in each["fieldsV1"]}
        assert fields == {
            place[0] for place in places if is_compared_whole(version.schema, place)
        }, chosen
        counts = definition.counts_empty and any(
            place[0] in definition.generation for place in places
        )
        assert new.get("generation", 0) == old.get("generation", 0) + counts, chosen
        assert {**answer.json, "metadata": 0} == {**stored, "metadata": 0}
