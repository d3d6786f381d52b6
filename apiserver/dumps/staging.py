"""Everything that was read from a dump, on the disk: each object once, ordered by version.

Memory then does not grow with the number of objects. An object that a dump contains twice is kept
in its newer version.
"""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Self

import orjson

from inkube.apiserver.dumps.findings import Unread
from inkube.schemas import meta
from inkube.schemas.builtin import decoding
from inkube.schemas.golang import DecodeError, rfc3339
from inkube.schemas.gotypes import table
from inkube.schemas.meta import GVK
from inkube.schemas.metadata import metadecoding, names
from inkube.schemas.objects import Object

KINDS = 20_000
"""The most kinds of a dump."""
_LARGEST_VERSION = 2**53
"""Larger resource versions are not those of etcd, and JavaScript could not read them."""
_BATCH = 2_000
_LONGEST_PATH = 200
"""The most characters of a path in a reason."""
_CRD = GVK("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
_TABLE = """
CREATE TABLE object (
    api_group TEXT, kind TEXT, namespace TEXT, name TEXT, version INTEGER, data BLOB,
    PRIMARY KEY (api_group, kind, namespace, name)
)
"""
_PUT = """
INSERT INTO object VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET version = excluded.version, data = excluded.data
WHERE excluded.version > version
"""


class KindName(NamedTuple):
    """A group and a kind."""

    group: str
    kind: str


class SeenKind:
    """What the objects of a kind have shown."""

    def __init__(self) -> None:
        self.plurals: set[str] = set()
        self.versions: set[str] = set()
        self.is_namespaced = False
        self.count = 0


class Staged(NamedTuple):
    """An object, with its resource version in the cluster (0: unknown)."""

    version: int
    object: Object


class Staging:
    """Objects on the disk. Its methods raise sqlite3.Error."""

    def __init__(self, folder: Path) -> None:
        self._connection = sqlite3.connect(folder / "objects", isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = OFF")
        self._connection.execute("PRAGMA synchronous = OFF")
        self._connection.execute("PRAGMA cache_size = -32000")
        self._connection.execute(_TABLE)
        self._rows: list[tuple[Any, ...]] = []
        self._size = 0
        self.kinds: dict[KindName, SeenKind] = {}
        self.damaged: set[KindName] = set()
        """The kinds of the files of which a part could not be read."""
        self.namespaces: set[str] = set()
        """The namespaces of objects, and those that the dump itself contains."""
        self.newest = ""
        """The newest time in any object, in RFC 3339 and UTC."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._connection.close()

    def put(self, obj: Object, plural: str = "") -> None:
        """Keep an object. Raises Unread for something else."""
        api_version, kind, metadata = obj.get("apiVersion"), obj.get("kind"), obj.get("metadata")
        if not isinstance(kind, str) or not isinstance(api_version, str) or not kind:
            raise Unread("an object without an apiVersion or a kind")
        name = metadata.get("name") if isinstance(metadata, dict) else None
        if not isinstance(metadata, dict) or not isinstance(name, str) or not name:
            raise Unread(f"a {kind} without a name is no stored object")
        namespace = metadata.get("namespace") or ""
        if not isinstance(namespace, str) or "/" in namespace or "/" in name:
            raise Unread(f"a {kind} whose name or namespace is no name")
        group, version = meta.split_api_version(api_version)
        if not self._is_of_an_api(KindName(group, kind), version):
            raise Unread("an object whose apiVersion or kind is no name")
        try:  # no client could read a list with such an object
            _check_types(obj, GVK(group, version, kind))
        except DecodeError as error:
            reason = f"a {kind} with a value of a wrong type: {error.path[:_LONGEST_PATH]}"
            raise Unread(reason, f"{namespace}/{name}".removeprefix("/")) from error
        self._note(KindName(group, kind), version, namespace, plural)
        if kind == "Namespace" and not group:
            self.namespaces.add(name)
        resource_version = _number(metadata.pop("resourceVersion", None))
        metadata.pop("selfLink", None)
        self.newest = max(self.newest, *_times(obj, metadata))
        try:
            data = orjson.dumps(obj)
        except TypeError as error:
            raise Unread(f"a {kind} with a number that is too large") from error
        self._size += len(data)
        self._rows.append((group, kind, namespace, name, resource_version, data))
        if len(self._rows) >= _BATCH or self._size > 2**23:
            self._flush()

    def cover(self, api_version: str, kind: str) -> None:
        """Note a list of a kind, which can be empty."""
        if api_version and kind:
            group, version = meta.split_api_version(api_version)
            if self._is_of_an_api(KindName(group, kind), version):  # else its objects are named
                self._note(KindName(group, kind), version, "", "", count=0)

    def objects(self, name: KindName | None = None) -> Iterator[Staged]:
        """Yield the objects, of one kind or of all kinds, by resource version; those without one
        come last."""
        self._flush()
        where = "" if name is None else "WHERE api_group = ? AND kind = ?"
        order = "ORDER BY version = 0, version, api_group, kind, namespace, name"
        query = f"SELECT version, data FROM object {where} {order}"  # noqa: S608 # texts above
        with contextlib.closing(self._connection.execute(query, name or ())) as rows:
            for version, data in rows:
                yield Staged(version, orjson.loads(data))

    def __len__(self) -> int:
        self._flush()
        count: int = self._connection.execute("SELECT count(*) FROM object").fetchone()[0]
        return count

    def _is_of_an_api(self, name: KindName, version: str) -> bool:
        """Return whether a server could have a kind. Clients refuse all kinds of a server that
        shows one whose group or version is no name."""
        seen = self.kinds.get(name)
        if seen is not None and version in seen.versions:
            return True
        is_group = not name.group or not names.dns1123_subdomain(name.group)
        labels = version, name.kind.lower()
        return is_group and not any(names.dns1035_label(each) for each in labels)

    def _note(
        self, name: KindName, version: str, namespace: str, plural: str, count: int = 1
    ) -> None:
        seen = self.kinds.get(name)
        if seen is None:
            if len(self.kinds) >= KINDS:
                raise Unread(f"more than {KINDS} kinds")
            seen = self.kinds[name] = SeenKind()
        seen.count += count
        seen.versions.add(version)
        if plural:
            seen.plurals.add(plural)
        if namespace:
            seen.is_namespaced = True
            self.namespaces.add(namespace)

    def _flush(self) -> None:
        if self._rows:
            self._connection.execute("BEGIN")
            self._connection.executemany(_PUT, self._rows)
            self._connection.execute("COMMIT")
        self._rows, self._size = [], 0


def _check_types(obj: Object, gvk: GVK) -> None:
    """Check the types of a built-in kind, or of the metadata of another kind: `Kinds` replaces
    definitions that cannot be used. Unknown fields, which another version can have, are no errors.
    Raises DecodeError."""
    if gvk == _CRD or table.table().of(gvk) is None:
        metadecoding.decode(obj["metadata"], [])
    else:
        decoding.decode(obj, gvk)


def _number(version: Any) -> int:
    text = version if isinstance(version, str) else ""
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else 0
    return number if number < _LARGEST_VERSION else 0


def _times(obj: Object, metadata: Object) -> Iterator[str]:
    """Yield the times at which a server or a node wrote, without those that lie in the future."""
    found = [metadata.get("creationTimestamp"), obj.get("lastTimestamp"), obj.get("eventTime")]
    parts = metadata.get("managedFields") or ()
    found += [part.get("time") for part in parts if isinstance(part, dict)]
    for member in (obj.get("spec"), obj.get("status")):
        if isinstance(member, dict):
            found.append(member.get("renewTime"))
            for each in member.get("conditions") or ():
                if isinstance(each, dict):
                    found += [each.get("lastHeartbeatTime"), each.get("lastTransitionTime")]
    for text in found:
        if isinstance(text, str) and text:
            yield _normalized(text)
    yield ""


def _normalized(text: str) -> str:
    try:
        return rfc3339.rfc3339(text)
    except DecodeError:
        return ""
