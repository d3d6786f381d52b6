"""Whether stored objects can be served as an older version of Kubernetes.

A newer version reads the objects of an older one, as with etcd. An older version would drop unknown
kinds and fields with its first write, so the server refuses such data before it writes. This module
is loaded only if an older version is served from existing data.
"""

from collections.abc import Iterator

from inkube.apiserver.registry import keys
from inkube.schemas import bodies, builtin, releases
from inkube.schemas.builtin import decoding
from inkube.schemas.definitions import Definition
from inkube.schemas.gotypes import table
from inkube.schemas.meta import GVK
from inkube.storage import Store


class TooNewError(ValueError):
    """Data that a version does not support. The message names one object and the required
    version."""


def check(store: Store, minor: int) -> None:
    """Check all stored objects of built-in kinds. Raises TooNewError at the first object with a
    kind or a field that the minor does not have."""
    served_kinds = builtin.by_name(minor)
    for resource_name, definition in builtin.by_name().items():
        prefix = keys.prefix(definition.names.plural)
        if store.count(prefix):
            _check_kind(store, prefix, definition, served_kinds.get(resource_name), minor)


def _check_kind(
    store: Store, prefix: str, newest: Definition, served: Definition | None, minor: int
) -> None:
    group, plural = newest.group, newest.names.plural
    if served is None:
        first = next(one.minor for one in releases.RECORDED if _serves(group, plural, one.minor))
        objects = f"{store.count(prefix)} {plural}.{group}".rstrip(".")
        raise TooNewError(_refusal(objects, minor, first))
    gvk = newest.gvk(newest.storage_version.name)
    names = [f'"{name}"'.encode() for name in set(_later(gvk, minor))]
    for entry in store.list(prefix) if names else ():
        if any(name in entry.data for name in names):
            for text in bodies.unknown_fields(decoding.decode(entry.value, gvk, minor).unknown):
                path = entry.key.removeprefix(keys.ROOT)
                first = next(
                    one.minor for one in releases.RECORDED if _reads(entry.value, gvk, one)
                )
                raise TooNewError(_refusal(f"{path}: {text}", minor, first))


def _refusal(objects: str, minor: int, first: int) -> str:
    return (
        f"the data holds what Kubernetes 1.{minor} does not know: {objects}; "
        f"serve 1.{first} or newer (--kubernetes-version)"
    )


def _serves(group: str, plural: str, minor: int) -> bool:
    return (group, plural) in builtin.by_name(minor)


def _reads(value: dict[str, object], gvk: GVK, release: releases.Release) -> bool:
    return not decoding.decode(value, gvk, release.minor).unknown


def _later(gvk: GVK, minor: int) -> Iterator[str]:
    """Yield the names of fields, at any depth in a kind, that its types do not have in a minor."""
    newest, older = table.table().types, table.table(minor).types
    name = table.table().of(gvk)
    pending, seen = [name] if name else [], set()
    while pending:
        each = pending.pop()
        if each in seen:
            continue
        seen.add(each)
        fields = newest[each].get("properties", {})
        properties = older[each].get("properties", {}) if each in older else {}
        for field, node in fields.items():
            if field not in properties:
                yield field
            schemas = (node, node.get("items", {}), node.get("additionalProperties", {}))
            pending += [one["$ref"] for one in schemas if isinstance(one, dict) and "$ref" in one]
