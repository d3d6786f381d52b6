"""OpenAPI of aggregated API servers, joined with the server's own documents.

Follows kube-aggregator/pkg/controllers/openapi/aggregator and kube-openapi/pkg/aggregator: only the
paths of its group are taken from a document, with the definitions that they use. A different
definition with an existing name gets a number as its suffix.
"""

from collections.abc import Iterator
from typing import Any

from inkube.schemas.objects import Object

_DEFINITIONS = "#/definitions/"


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

    Existing paths stay as they are.
    """
    definitions = dict(document["definitions"])
    names: dict[str, str] = {}
    for name, schema in other["definitions"].items():
        if name in definitions and definitions[name] != schema:
            names[name] = _free(name, definitions, schema)
        definitions.setdefault(names.get(name, name), schema)
    for name, schema in other["definitions"].items() if names else ():
        if name in names or name not in document["definitions"]:
            definitions[names.get(name, name)] = _renamed(schema, names)
    paths = {**_renamed(other["paths"], names), **document["paths"]}
    return {**document, "paths": paths, "definitions": definitions}


def _free(name: str, definitions: Object, schema: Object) -> str:
    number = 2
    while f"{name}_v{number}" in definitions and definitions[f"{name}_v{number}"] != schema:
        number += 1
    return f"{name}_v{number}"


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
