"""apply-replacements: copies values from one object to others, like kustomize's replacements."""

import re
from collections.abc import Iterator
from typing import Any

from inkube.client import Object
from inkube.controllers.porch.files import documents
from inkube.controllers.porch.files.documents import Document
from inkube.controllers.porch.files.functions.base import Failed, Package, Result


def apply_replacements(config: Object, package: Package) -> list[Result]:
    """Copy the source of each replacement to its targets."""
    replacements = config.get("replacements")
    if not isinstance(replacements, list) or not replacements:
        raise Failed("config is needed: replacements must not be empty")
    found: list[Result] = []
    for each in replacements:
        value = _source(each.get("source") or {}, package)
        for target in each.get("targets") or ():
            found += _fill(target, value, package)
    return found


def _source(source: Object, package: Package) -> Any:
    matching = [each for each in package.selected if _matches(source, each)]
    if len(matching) != 1:
        what = f"{source.get('kind', '')} {source.get('name', '')}".strip()
        raise Failed(f"replacement source {what}: {len(matching)} objects match, one is needed")
    path = source.get("fieldPath") or "metadata.name"
    places = list(_targets(matching[0].value, _steps(path)))
    if not places:
        raise Failed(f"replacement source has no field {path}")
    holder, key = places[0]
    value = holder[key]
    options = source.get("options") or {}
    if options.get("delimiter"):
        parts = str(value).split(options["delimiter"])
        index = int(options.get("index") or 0)
        if index >= len(parts):
            raise Failed(f"replacement source has no part {index}")
        return parts[index]
    return value


def _fill(target: Object, value: Any, package: Package) -> list[Result]:
    rejected = target.get("reject") or ()
    paths = target.get("fieldPaths") or ["metadata.name"]
    options = target.get("options") or {}
    found = []
    for document in package.mutable:
        if not _matches(target.get("select") or {}, document):
            continue
        if any(_matches(each, document) for each in rejected):
            continue

        def change(tree: Any, document: Document = document) -> None:
            for path in paths:
                steps = _steps(path)
                places = list(_targets(tree, steps, create=bool(options.get("create"))))
                if not places:
                    raise Failed(f"{document.file}: no field {path}; options.create would make it")
                for holder, key in places:
                    holder[key] = _put(holder, key, value, options)

        if document.edit(change):
            found.append(Result("replaced", document, str(paths[0])))
    return found


def _put(holder: Any, key: Any, value: Any, options: Object) -> Any:
    if not options.get("delimiter"):
        return value
    old = holder[key] if not isinstance(holder, dict) or key in holder else ""
    parts = str(old).split(options["delimiter"])
    index = int(options.get("index") or 0)
    if index < 0:
        parts.insert(0, str(value))
    elif index >= len(parts):
        parts.append(str(value))
    else:
        parts[index] = str(value)
    return str(options["delimiter"]).join(parts)


def _matches(selector: Object, document: Document) -> bool:
    group, kind, namespace, name = documents.identity(document.value)
    version = str(document.value.get("apiVersion", "")).rpartition("/")[2]
    found = {
        "group": group, "version": version, "kind": kind, "name": name, "namespace": namespace,
    }  # fmt: skip
    return all(not selector.get(member) or selector[member] == found[member] for member in found)


def _steps(path: str) -> list[str]:
    """Split `spec.containers.[name=x].image` into steps; a backslash escapes a dot."""
    parts = re.findall(r"(\[[^\]]*\]|(?:\\.|[^.\[])+)", path)
    return [re.sub(r"\\(.)", r"\1", part) for part in parts]


def _targets(tree: Any, steps: list[str], *, create: bool = False) -> Iterator[tuple[Any, Any]]:
    """Yield the collections and keys that a path matches."""
    head, rest = steps[0], steps[1:]
    for holder, key in _keys(tree, head, create=create and not head.startswith("[")):
        if not rest:
            yield holder, key
            continue
        if create and isinstance(holder, dict) and holder.get(key) is None:
            holder[key] = {}
        yield from _targets(holder[key], rest, create=create)


def _keys(node: Any, step: str, *, create: bool) -> Iterator[tuple[Any, Any]]:
    if step.startswith("[") and "=" in step:
        name, _, wanted = step[1:-1].partition("=")
        for at, item in enumerate(node if isinstance(node, list) else ()):
            if isinstance(item, dict) and str(item.get(name)) == wanted:
                yield node, at
    elif step == "*" and isinstance(node, list):
        yield from ((node, at) for at in range(len(node)))
    elif step.isdigit() and isinstance(node, list):
        if int(step) < len(node):
            yield node, int(step)
    elif isinstance(node, dict) and (step in node or create):
        yield node, step
