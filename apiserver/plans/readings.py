"""What a plan has read besides its own objects, with resource versions: the namespaces and the
definitions of the objects, limit ranges, admission policies and configurations of webhooks.

The server judges with them. If one of them changes, the result of the plan can differ.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import orjson

from inkube.apiserver.registry import keys
from inkube.schemas.meta import GVR
from inkube.schemas.objects import Object
from inkube.storage import Record

_ADMISSION = "admissionregistration.k8s.io"
_JUDGES = (
    "mutatingadmissionpolicies", "mutatingadmissionpolicybindings", "mutatingwebhookconfigurations",
    "validatingadmissionpolicies", "validatingadmissionpolicybindings",
    "validatingwebhookconfigurations",
)  # fmt: skip
_CRDS = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")
_NAMESPACES = GVR("", "v1", "namespaces")
IDENTITY = "kube-system"
"""The namespace whose uid tells one cluster from another."""


class Reading(NamedTuple):
    """An object or a list, and the resource version of each object in it by name."""

    path: str
    versions: Mapping[str, str]


class Known(NamedTuple):
    """The resource versions of a captured cluster by uid, and the prefixes of keys that the capture
    covers."""

    versions: Mapping[str, str]
    prefixes: Sequence[str]


class Readings:
    """The newest state of a log, with the resource versions that the cluster knows.

    `known` are the resource versions, if they are not the revisions of the log.
    """

    def __init__(self, records: Iterable[Record], known: Known | None = None) -> None:
        rows = {row.key: row for row in records}
        self._rows = {key: row for key, row in rows.items() if not row.deleted}
        self._known = known
        mark = self._rows.get(keys.CAPTURED)
        self._source = "" if mark is None else str(orjson.loads(mark.data)["metadata"]["name"])

    @property
    def has_versions(self) -> bool:
        """Whether resource versions are known: not for a capture that was changed later."""
        return self._known is not None or self._source != "cluster"

    @property
    def identity(self) -> str:
        """The uid of the cluster, "" if it is unknown."""
        row = self._rows.get(keys.key("namespaces", "", IDENTITY))
        return "" if row is None else str(orjson.loads(row.data)["metadata"].get("uid", ""))

    def version(self, obj: Object) -> str:
        """Return the resource version of a stored object in the cluster."""
        metadata = obj["metadata"]
        own: str = metadata["resourceVersion"]
        return own if self._known is None else self._known.versions.get(metadata.get("uid"), "")

    def of(self, namespaces: Iterable[str], resources: Iterable[GVR]) -> list[Reading]:
        """Return what judges objects in these namespaces and of these resources."""
        found: list[Reading | None] = []
        for name in sorted(set(namespaces) - {""}):
            found.append(self._object(_NAMESPACES, name))
            found.append(self._list(GVR("", "v1", "limitranges"), name))
        found += (self._object(_CRDS, _name_of(each)) for each in sorted(set(resources)))
        found += (self._list(self._judge(plural)) for plural in _JUDGES)
        return [each for each in found if each is not None]

    def _object(self, resource: GVR, name: str) -> Reading | None:
        """Return the reading of an object that the data contains. A dump can be a part of a
        cluster."""
        row = self._rows.get(keys.key(resource.resource, "", name))
        return row and Reading(resource.path("", name), {name: self._version_of(row)})

    def _list(self, resource: GVR, namespace: str = "") -> Reading | None:
        """Return the reading of a list. A dump without objects of the kind can be a part of a
        cluster, and a capture knows what it covers."""
        prefix = keys.prefix(resource.resource) + (f"{namespace}/" if namespace else "")
        rows = {key: row for key, row in self._rows.items() if key.startswith(prefix)}
        found = {key.removeprefix(prefix): self._version_of(row) for key, row in rows.items()}
        is_known = bool(found) or self._source != "dump"
        if self._known is not None:
            is_known = any(prefix.startswith(each) for each in self._known.prefixes)
        return Reading(resource.path(namespace), found) if is_known else None

    def _judge(self, plural: str) -> GVR:
        """Return a resource with the version as which its objects are stored."""
        prefix = keys.prefix(plural)
        row = next((row for key, row in self._rows.items() if key.startswith(prefix)), None)
        stored = "" if row is None else str(orjson.loads(row.data).get("apiVersion", ""))
        return GVR(_ADMISSION, stored.rpartition("/")[2] or "v1", plural)

    def _version_of(self, row: Record) -> str:
        return self.version(_with_version(row))


def _with_version(row: Record) -> Object:
    obj: Object = orjson.loads(row.data)
    return {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(row.revision)}}


def _name_of(resource: GVR) -> str:
    return f"{resource.resource}.{resource.group}"
