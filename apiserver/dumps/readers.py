"""Reads one file of a dump, by its content: objects and logs go to the staging and the target."""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import orjson

from inkube import storage
from inkube.apiserver.dumps import etcd, inputs, layouts, texts
from inkube.apiserver.dumps.findings import Findings, Unread
from inkube.apiserver.dumps.inputs import Input
from inkube.apiserver.dumps.layouts import Place
from inkube.apiserver.dumps.staging import KindName, Staging
from inkube.apiserver.registry import keys
from inkube.apiserver.subresources import recordedlogs
from inkube.schemas import meta
from inkube.schemas.objects import Object
from inkube.storage import Attachments, Log, Range, StorageError

_SQLITE = b"SQLite format 3\0"
_PIECE = 64 * 1024
PAGE = 500
_WHOLE = 1_000_000
"""The weight of a file that is a whole dump."""
NO_OBJECTS = "a file that contains no objects"
_LATER = "later changes of an object, which crust-gather has recorded (sync)"


class Target(NamedTuple):
    """Where a dump goes: its objects, and its logs with the number of the dump in the file."""

    staging: Staging
    attachments: Attachments
    number: int


class Reader:
    """Reads the files of one dump."""

    def __init__(self, target: Target, findings: Findings) -> None:
        self._target = target
        self._findings = findings
        self._tools: Counter[str] = Counter()
        self._kinds = set[KindName]()
        """The kinds of the file that is read."""
        self._is_damaged = False
        """Whether a part of that file cannot be read."""
        self.objects = self.logs = 0
        self.kubernetes = ""
        """The version of the API server, if a file of the dump says it."""

    @property
    def tool(self) -> str:
        """The tool that wrote the dump, by the layout of most of its files."""
        return self._tools.most_common(1)[0][0] if self._tools else layouts.LISTS

    async def read(self, source: Input) -> None:
        """Read one file. Raises DumpError, OSError, sqlite3.Error."""
        self._kinds, self._is_damaged = set(), False
        try:
            await self._read(source)
        except Unread as error:
            self._unread(error, source.path)

    async def _read(self, source: Input) -> None:
        head = source.head
        if head.startswith(_SQLITE):
            await self._of_data_file(source)
            return
        if etcd.is_database(head):
            self._of_etcd(source)
            return
        if layouts.is_version(source.path):
            self.kubernetes = _version(source) or self.kubernetes
            return
        place = layouts.place_of(source.path)
        if place.is_log and place.container:
            self._tools[place.tool] += 1
            self._log(place, iter(lambda: source.stream.read(_PIECE), b""))
        elif place.is_log:
            self._tools[place.tool] += 1
            for log in texts.logs(source.stream):
                self._named_log(log)
        elif b"\0" in head.removesuffix(b"\0")[:1024]:  # crust-gather ends files with one
            raise Unread("binary content of no known form")
        elif layouts.is_of_objects(source.path) or "/" not in source.path:
            self._objects(source, place)
        else:
            raise Unread(_LATER if source.path.endswith(".patch") else NO_OBJECTS)

    def _objects(self, source: Input, place: Place) -> None:
        has_objects = False
        for value in texts.values(source.stream):
            if isinstance(value, Unread):
                self._unread(value, source.path)
            elif isinstance(value, texts.LogText):
                self._tools[layouts.CLUSTER_INFO] += 1
                self._named_log(value)
            elif texts.is_list(value):
                has_objects = True
                kind = str(value.get("kind") or "List").removesuffix("List")
                api_version = value.get("apiVersion") or ""
                self._note(api_version, kind)
                self._target.staging.cover(api_version, kind)
            else:
                has_objects |= self._object(_completed(value, place), place.plural, source.path)
        if has_objects and place.tool:
            self._tools[place.tool] += 1

    def _object(self, value: Object, plural: str, path: str) -> bool:
        try:
            self._target.staging.put(value, plural)
        except Unread as error:
            self._findings.add(str(error), f"{path}: {error.place}" if error.place else path)
            self._keep_earlier(value)
            return False
        self._note(value["apiVersion"], value["kind"])
        self.objects += 1
        return True

    def _keep_earlier(self, value: Object) -> None:
        """Keep what the file to append to has of the kind of an object that is left out."""
        api_version, kind = value.get("apiVersion"), value.get("kind")
        if isinstance(api_version, str) and isinstance(kind, str):
            group, _ = meta.split_api_version(api_version)
            self._target.staging.damaged.add(KindName(group, kind))

    def _note(self, api_version: str, kind: str) -> None:
        """Remember a kind of the file that is read."""
        name = KindName(meta.split_api_version(api_version)[0], kind)
        self._kinds.add(name)
        if self._is_damaged:
            self._target.staging.damaged.add(name)

    def _unread(self, reason: Unread, path: str) -> None:
        """Note that a part of the file that is read is left out."""
        self._findings.add(str(reason), path)
        self._is_damaged = True
        self._target.staging.damaged |= self._kinds

    def _named_log(self, log: texts.LogText) -> None:
        place = Place(namespace=log.namespace, pod=log.pod, container=log.container)
        self._log(place, log.lines)

    def _log(self, place: Place, pieces: Iterator[bytes]) -> None:
        name = recordedlogs.name_of(
            place.namespace,
            place.pod,
            place.container,
            is_previous=place.is_previous,
            dump=self._target.number,
        )
        self._target.attachments.write(name, pieces)
        self.logs += 1

    def _of_etcd(self, source: Input) -> None:
        """Read the newest state of an etcd snapshot, which must be read in any order."""
        self._tools[layouts.ETCD] += _WHOLE
        with inputs.spooled(source.stream) as spool:
            for state in etcd.newest(etcd.Database(spool)):
                try:
                    obj = etcd.object_of(state)
                except Unread as error:
                    self._findings.add(str(error), state.key)
                    continue
                self._object(obj, "", state.key)

    async def _of_data_file(self, source: Input) -> None:
        """Read the newest state of a data file of inkube."""
        self._tools[layouts.DATA_FILE] += _WHOLE
        if source.file is None:
            raise Unread("a data file of inkube in an archive: unpack it first")
        try:
            with storage.readable(source.file) as found:
                await self._of_log(storage.sqlite_log(found))
        except (StorageError, sqlite3.Error, ValueError) as error:
            raise Unread(f"a database that inkube cannot read: {error}") from error

    async def _of_log(self, log: Log) -> None:
        await log.open()
        try:
            newest, after = (await log.horizon()).newest, ""
            while records := await log.at(Range(keys.ROOT, after, PAGE), newest):
                for record in records:
                    self._object(orjson.loads(record.data), "", record.key)
                after = records[-1].key
        finally:
            await log.close()


def _version(source: Input) -> str:
    """Return the version in the response of `/version`. Raises Unread."""
    try:
        value = orjson.loads(source.stream.read(_PIECE))
    except ValueError as error:
        raise Unread("a version that is no JSON") from error
    info = value.get("info", value) if isinstance(value, dict) else None
    return str(info.get("gitVersion", "")) if isinstance(info, dict) else ""


def _completed(value: Object, place: Place) -> Object:
    """Return an object with the kind that its path says, if it has none itself. Support bundles of
    some versions leave it out."""
    if value.get("kind") or not place.plural:
        return value
    kind = layouts.kind_of(place.plural)
    return {**kind, **value} if kind else value
