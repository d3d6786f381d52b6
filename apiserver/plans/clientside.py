"""The requests of client-side apply: a patch from three states of an object.

The three are the manifest that was applied last, the new manifest, and the object on the server.
Built-in kinds get strategic merge patches, all others merge patches. Follows k8s.io/kubectl,
pkg/cmd/apply/patcher.go, and apimachinery, strategicpatch (CreateThreeWayMergePatch).
"""

import json
from collections.abc import Mapping
from typing import Any

from inkube.apiserver.plans.outcomes import Write
from inkube.schemas import builtin
from inkube.schemas.lastapplied import LAST_APPLIED, last_applied
from inkube.schemas.meta import GVR
from inkube.schemas.objects import Object

MANAGER = "kubectl-client-side-apply"
_MERGED_GROUPS = frozenset({"apiextensions.k8s.io", "apiregistration.k8s.io"})
"""Groups whose kinds kubectl does not know: it patches them like custom resources."""
_ORDER = "$setElementOrder"
_Schema = Mapping[str, Any]


def write(
    resource: GVR, obj: Object, old: Object | None, query: Mapping[str, str], minor: int
) -> Write:
    """Return the request that applies a manifest to an object, or creates it. A PATCH without a
    body is not sent."""
    wanted = _with_last_applied(obj)
    if old is None:
        return Write("POST", resource.resource, wanted, query, "application/json")
    schema = _schema(resource, minor)
    patch = _of_map(last_applied(old["metadata"]), wanted, old, schema or {})
    media = "merge-patch+json" if schema is None else "strategic-merge-patch+json"
    return Write("PATCH", resource.resource, patch, query, f"application/{media}", desired=obj)


def _schema(resource: GVR, minor: int) -> _Schema | None:
    """Return the schema of a built-in kind, None for one of which kubectl has no type."""
    definition = builtin.by_name(minor).get((resource.group, resource.resource))
    if definition is None or resource.group in _MERGED_GROUPS:
        return None
    found = (each.schema for each in definition.versions if each.name == resource.version)
    return next(found, None)


def _with_last_applied(obj: Object) -> Object:
    metadata = obj.get("metadata") or {}
    annotations = {
        k: v for k, v in (metadata.get("annotations") or {}).items() if k != LAST_APPLIED
    }
    bare = {**obj, "metadata": {**metadata, "annotations": annotations}}
    text = json.dumps(bare, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"
    return {**obj, "metadata": {**metadata, "annotations": {**annotations, LAST_APPLIED: text}}}


def _of_map(original: Object, modified: Object, current: Object, schema: _Schema) -> Object:
    """Return the patch of a map: {} without a difference. The depth of a manifest is limited."""
    patch: Object = {name: None for name in original if name not in modified and name in current}
    for name, value in modified.items():
        now, inner = current.get(name), _member(schema, name)
        if isinstance(value, dict) and isinstance(now, dict):
            patch |= _of_member(name, _as_map(original.get(name)), value, now, inner)
        elif isinstance(value, list) and isinstance(now, list) and "merge" in _strategies(inner):
            before = original.get(name)
            patch |= _of_list(name, before if isinstance(before, list) else [], value, now, inner)
        elif value is not None and (name not in current or value != now):
            patch[name] = value
        elif value is None and name in current:
            patch[name] = None
    return patch


def _of_member(name: str, original: Object, value: Object, now: Object, schema: _Schema) -> Object:
    strategies = _strategies(schema)
    if "replace" in strategies:
        return {} if value == now else {name: {**value, "$patch": "replace"}}
    patch = _of_map(original, value, now, schema)
    if patch and "retainKeys" in strategies:
        patch["$retainKeys"] = sorted(value)
    return {name: patch} if patch else {}


def _of_list(
    name: str, original: list[Any], modified: list[Any], current: list[Any], schema: _Schema
) -> Object:
    """Return the members of a patch for a list that is merged."""
    key = str(schema.get("x-kubernetes-patch-merge-key", ""))
    if not key:
        return _of_scalars(name, original, modified, current)
    now, before = _by_key(current, key), _by_key(original, key)
    changes: list[Any] = []
    for item in modified:
        own = item.get(key) if isinstance(item, dict) else None
        if own in now:
            inner = schema.get("items", {})
            patch = _of_map(before.get(own, {}), item, now[own], inner)
            if patch and "retainKeys" in _strategies(schema):
                patch["$retainKeys"] = sorted(item)
            changes += [{key: own, **patch}] if patch else []
        else:
            changes.append(item)
    wanted = _by_key(modified, key)
    gone = [each for each in before if each not in wanted and each in now]
    changes += [{"$patch": "delete", key: each} for each in gone]
    return _ordered(name, changes, [{key: each} for each in wanted], current, key)


def _of_scalars(name: str, original: list[Any], modified: list[Any], current: list[Any]) -> Object:
    added = [each for each in modified if each not in current]
    gone = [each for each in original if each not in modified and each in current]
    found = _ordered(name, added, modified, current, "") if added or gone else {}
    return found | ({f"$deleteFromPrimitiveList/{name}": gone} if gone else {})


def _ordered(
    name: str, changes: list[Any], order: list[Any], current: list[Any], key: str
) -> Object:
    """Add the order of the items, if they change or have another order."""
    present = [each for each in _names(current, key) if each in set(_names(order, key))]
    is_same = present == [each for each in _names(order, key) if each in set(present)]
    found: Object = {name: changes} if changes else {}
    return found if is_same and not changes else {f"{_ORDER}/{name}": order, **found}


def _names(items: list[Any], key: str) -> list[Any]:
    return [each.get(key) for each in items if isinstance(each, dict)] if key else items


def _by_key(items: list[Any], key: str) -> dict[Any, Object]:
    return {each[key]: each for each in items if isinstance(each, dict) and key in each}


def _as_map(value: Any) -> Object:
    return value if isinstance(value, dict) else {}


def _member(schema: _Schema, name: str) -> _Schema:
    found = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
    return found if isinstance(found, dict) else {}


def _strategies(schema: _Schema) -> list[str]:
    return str(schema.get("x-kubernetes-patch-strategy", "")).split(",")
