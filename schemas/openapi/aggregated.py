"""OpenAPI of aggregated API servers and of custom resources, joined with that of built-in kinds.

Follows kube-aggregator/pkg/controllers/openapi/aggregator and kube-openapi/pkg/aggregator: only the
paths of its group are taken from a document, with the definitions that they use. A different
definition with an existing name gets a number as its suffix.
"""

from collections.abc import Iterator
from typing import Any

from inkube.schemas.objects import Object

_DEFINITIONS = "#/definitions/"
_KINDS = "x-kubernetes-group-version-kind"


def paths_of(index: Any, prefix: str) -> dict[str, str]:
    """Return the entries of an OpenAPI v3 index at the path of a version: path → relative URL.

    `prefix` is `/apis/GROUP/VERSION`.
    """
    paths = index.get("paths") if isinstance(index, dict) else None
    entry = paths.get(prefix.lstrip("/")) if isinstance(paths, dict) else None
    url = entry.get("serverRelativeURL") if isinstance(entry, dict) else None
    return {prefix.lstrip("/"): url} if isinstance(url, str) and url else {}


def of_group(document: Object, prefix: str) -> Object:
    """Return the paths of an OpenAPI v2 document below a prefix, with the definitions that they
    use."""
    paths = {
        path: item
        for path, item in _members(document, "paths").items()
        if path.rstrip("/") == prefix or path.startswith(f"{prefix}/")
    }
    definitions = _members(document, "definitions")
    referenced: Object = {}
    pending = list(_references(paths))
    while pending:
        name = pending.pop()
        if name in referenced or name not in definitions:
            continue
        referenced[name] = definitions[name]
        pending += _references(definitions[name])
    return {"paths": paths, "definitions": referenced}


def join(document: Object, other: Object) -> Object:
    """Return a v2 document with the paths and definitions of both. The arguments do not change.

    Existing paths stay as they are. A definition of both has the kinds of both.
    """
    definitions, others = dict(document["definitions"]), other["definitions"]
    names = {
        name: _free(name, schema, definitions, others)
        for name, schema in others.items()
        if name in definitions and not _are_equal(definitions[name], schema)
    }
    for old, schema in others.items():
        name = names.get(old, old)
        if name in definitions:
            definitions[name] = _with_kinds(definitions[name], schema)
        else:
            definitions[name] = _renamed(schema, names) if names else schema
    added = _renamed(other["paths"], names) if names else other["paths"]
    return {**document, "paths": {**added, **document["paths"]}, "definitions": definitions}


def _free(name: str, schema: Object, definitions: Object, others: Object) -> str:
    """Return the name under which a definition is added: a free one, or that of an equal one."""
    number = 2
    while (taken := f"{name}_v{number}") in others or (
        taken in definitions and not _are_equal(definitions[taken], schema)
    ):
        number += 1
    return f"{name}_v{number}"


def _are_equal(left: Object, right: Object) -> bool:
    """Return whether two definitions differ in nothing but their kinds."""
    if left == right:
        return True
    return {**left, _KINDS: None} == {**right, _KINDS: None}


def _with_kinds(definition: Object, other: Object) -> Object:
    """Return a definition that also has the kinds of another one."""
    kinds = definition.get(_KINDS, [])
    added = [each for each in other.get(_KINDS, ()) if each not in kinds]
    return {**definition, _KINDS: [*kinds, *added]} if added else definition


def _renamed(node: Any, names: dict[str, str]) -> Any:
    if isinstance(node, list):
        return [_renamed(child, names) for child in node]
    if not isinstance(node, dict):
        return node
    renamed = {key: _renamed(child, names) for key, child in node.items()}
    target = renamed.get("$ref")
    if isinstance(target, str):
        name = target.removeprefix(_DEFINITIONS)
        renamed["$ref"] = _DEFINITIONS + names.get(name, name)
    return renamed


def _references(node: Any) -> Iterator[str]:
    stack = [node]
    while stack:
        one = stack.pop()
        if isinstance(one, dict):
            target = one.get("$ref")
            if isinstance(target, str):
                yield target.removeprefix(_DEFINITIONS)
            stack += one.values()
        elif isinstance(one, list):
            stack += one


def _members(document: Object, name: str) -> Object:
    members = document.get(name)
    return members if isinstance(members, dict) else {}
