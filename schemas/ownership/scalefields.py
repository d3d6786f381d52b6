"""Conversion of managedFields between an object and its Scale.

A Scale shows the owners of the replicas of its object. A write to the Scale is tracked as a
write of an autoscaling/v1 object, and the result is then transferred to the object.
Follows apimachinery pkg/util/managedfields/scalehandler.go.
"""

from collections.abc import Mapping

from inkube.schemas.ownership import fieldsets, managedfields
from inkube.schemas.ownership.fieldsets import FieldSet
from inkube.schemas.ownership.managedfields import Entry, Managed
from inkube.schemas.ownership.updater import Owned

SCALE_VERSION = "autoscaling/v1"
_REPLICAS = ("f:spec", "f:replicas")

Paths = Mapping[str, str]
"""The path of the replicas (`.spec.replicas`) by apiVersion; "" without a scale."""


def of_scale(entries: list[Entry] | None, paths: Paths) -> list[Entry]:
    """Return the entries of a Scale, from the entries of the object that own its replicas."""
    parent = managedfields.decode(entries, trusted=True)
    scale = Managed({}, {})
    for manager, owned in parent.owners.items():
        path = paths.get(owned.api_version)
        if path and fieldsets.has(owned.fields, _elements(path)):
            fields = fieldsets.of(_REPLICAS)
            scale.owners[manager] = Owned(fields, SCALE_VERSION, owned.applied)
            if manager in parent.times:
                scale.times[manager] = parent.times[manager]
    return managedfields.encode(scale)


def of_parent(
    entries: list[Entry] | None, scale_entries: list[Entry] | None, *, paths: Paths, version: str
) -> list[Entry]:
    """Return the entries of the object after a write of its Scale in `version` of the object.

    A manager that lost the replicas of the Scale loses those of the object. A new owner owns them
    under the subresource `scale`. As upstream, entries of new owners have no time, and a manager
    that updated the object counts as a new owner, because its identity contains a version, which
    is that of the Scale: it then has two entries.
    """
    parent = managedfields.decode(entries, trusted=True)
    scale = managedfields.decode(scale_entries, trusted=True)
    winners = {
        manager: owned
        for manager, owned in scale.owners.items()
        if fieldsets.has(owned.fields, _REPLICAS)
    }
    result = Managed({}, parent.times)
    for manager, owned in parent.owners.items():
        path = paths.get(owned.api_version)
        if path is None:
            continue
        fields = owned.fields
        if path and fieldsets.has(fields, _elements(path)):
            still_owned = winners.pop(manager, None) is not None
            fields = fields if still_owned else fieldsets.difference(fields, replicas(path))
        if fields:
            result.owners[manager] = owned._replace(fields=fields)
    fields = replicas(paths[version])
    for manager, owned in winners.items():
        result.owners[manager] = Owned(fields, version, owned.applied)
    return managedfields.encode(result, old=entries)


def replicas(path: str) -> FieldSet:
    """Return the set with only the replicas; `path` is that of the scale subresource."""
    return fieldsets.of(_elements(path))


def _elements(path: str) -> tuple[str, ...]:
    return tuple(f"f:{name}" for name in path.split(".") if name)
