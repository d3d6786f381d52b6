"""The differences between two states of an object, by field, without noise.

Left out: the members of metadata that the server sets, the status, the defaults of new fields, and
what kubectl has applied last.
Items of lists with unique names are compared by name, as in the paths of field owners.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from inkube.schemas.lastapplied import LAST_APPLIED
from inkube.schemas.objects import Object

_OF_THE_SERVER = frozenset({
    "creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid",
})  # fmt: skip
_LAST_APPLIED = f"metadata.annotations[{LAST_APPLIED}]"
MISSING = object()
"""The value of a field that does not exist."""
_Leaves = dict[str, Any]


class FieldChange(NamedTuple):
    """A field before and after a change: MISSING if it does not exist."""

    path: str
    old: Any
    new: Any


def changes(
    old: Object | None, new: Object | None, applied: Object | None = None
) -> list[FieldChange]:
    """Return the changed fields, in the order of paths. New fields are listed only if `applied`
    contains them; otherwise, they are defaults."""
    before, after = leaves(old), leaves(new)
    wanted = None if applied is None else leaves(applied)
    found = []
    for path in sorted(before.keys() | after.keys()):
        was, now = before.get(path, MISSING), after.get(path, MISSING)
        is_default = was is MISSING and wanted is not None and path not in wanted
        if was != now and not is_default:
            found.append(FieldChange(path, was, now))
    return found


def leaves(obj: Object | None) -> _Leaves:
    """Return the values of an object that are no containers, by path."""
    if obj is None:
        return {}
    meta = {
        name: value
        for name, value in (obj.get("metadata") or {}).items()
        if name not in _OF_THE_SERVER
    }
    shown = {name: value for name, value in obj.items() if name not in ("status", "metadata")}
    found = dict(_leaves({"metadata": meta, **shown}, ""))
    found.pop(_LAST_APPLIED, None)
    return found


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the leaves. The depth of a stored object is limited."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            is_word = name.replace("-", "").replace("_", "").isalnum()
            yield from _leaves(
                inner, (f"{path}.{name}" if path else name) if is_word else f"{path}[{name}]"
            )
    elif isinstance(value, list) and value:
        for key, inner in _keyed(value):
            yield from _leaves(inner, f"{path}[{key}]")
    else:
        yield path, value


def _keyed(items: list[Any]) -> Iterator[tuple[str, Any]]:
    names = [item.get("name") if isinstance(item, dict) else None for item in items]
    if all(isinstance(name, str) for name in names) and len(set(names)) == len(names):
        yield from ((f"name={name}", item) for name, item in zip(names, items, strict=True))
    else:
        yield from ((str(index), item) for index, item in enumerate(items))
