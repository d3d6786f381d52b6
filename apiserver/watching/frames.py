"""Watch events as bytes: whole objects, tables or metadata, as lines of JSON or frames of protobuf;
each made once for all its watchers."""

import itertools
from collections.abc import Callable, Hashable, Iterable
from datetime import datetime
from functools import partial
from typing import NamedTuple

import orjson

from inkube.apiserver import handlers
from inkube.apiserver.handlers import tables
from inkube.apiserver.handlers.stored import data_of
from inkube.apiserver.http.negotiation import Form
from inkube.apiserver.registry.stamps import Stamps
from inkube.apiserver.watching.framecache import FrameCache
from inkube.apiserver.watching.watch import Watcher, bookmark, last_state
from inkube.schemas.builtin import protobuf
from inkube.schemas.objects import Object
from inkube.schemas.status import StatusError
from inkube.storage.entry import Change, Entry

TYPES = ("ADDED", "MODIFIED", "DELETED")
SharedFrames = dict[Hashable, tuple[list[Change], bytes]]
"""By sort of watcher: the changes told last, and their bytes on the wire."""


class Wire(NamedTuple):
    """How a frame lies on a connection: `pack` puts it there, `name` tells wires apart.

    `always`: every frame is packed by itself. Otherwise only those written past aiohttp, which
    packs what it writes.
    """

    name: str
    pack: Callable[[bytes], bytes]
    always: bool = False


def chunked(data: bytes) -> bytes:
    """One HTTP chunk."""
    return b"%x\r\n%b\r\n" % (len(data), data)


PLAIN = Wire("", bytes)
CHUNKS = Wire("chunk", chunked)


class Framer:
    """Turns what a watcher sees into lines or frames."""

    ending = ""
    """How the watch is to end now, before its time: `Cut`, `Close` or `Expired`."""
    bookmarks = True
    """Whether the watch says how far it is."""

    def __init__(
        self, watcher: Watcher, form: Form, stamps: Stamps, cache: FrameCache, *, wire: Wire = PLAIN
    ) -> None:
        self._watcher = watcher
        self._cache = cache
        self._call = watcher.call
        self._form = form
        self._stamps = stamps
        self._keys = {kind: (kind, self._call.served, form) for kind in TYPES}
        self._pack = wire.pack
        self._packed_keys = {kind: (*key, wire.name) for kind, key in self._keys.items()}
        self._makers = {kind: partial(self._make, kind) for kind in TYPES}
        self._packers = {kind: partial(self._make_packed, kind) for kind in TYPES}
        self._first = form.kind == "Table"
        self._on_wire = self.packed if wire.name else self.change
        self._told = self._on_wire if wire.always else self.change
        self._whole: Callable[[bytes], bytes] = wire.pack if wire.always else bytes
        self._sort = (watcher.selector, form, wire.name)

    def changes(self, changes: Iterable[Change]) -> bytes:
        """The events of some changes, in order; empty when none concerns the watcher."""
        return b"".join([frame for frame in map(self._told, changes) if frame])

    def change(self, change: Change) -> bytes:
        """The event of one change, empty when it does not concern the watcher."""
        kind = self._type_of(change)
        if not kind:
            return b""
        if self._first:
            return self._headed(kind, self._state(change, kind))
        return self._cache.get(change, self._keys[kind], self._makers[kind])

    def burst(self, changes: list[Change], told: SharedFrames) -> bytes:
        """The events of some changes as they go over the wire.

        `told` has what watchers of the same sort were just told: those who are told the same
        changes share the bytes.
        """
        if self._first:
            return b"".join(map(self._on_wire, changes))
        same = told.get(self._sort)
        if same is not None and same[0] == changes:
            return same[1]
        data = b"".join(map(self._on_wire, changes))
        told[self._sort] = changes, data
        return data

    def packed(self, change: Change) -> bytes:
        """The same as `change`, packed by itself."""
        kind = self._type_of(change)
        if not kind:
            return b""
        if self._first:
            return self._pack(self._headed(kind, self._state(change, kind)))
        return self._cache.get(change, self._packed_keys[kind], self._packers[kind])

    def _type_of(self, change: Change) -> str:
        """See `Watcher.type_of`; worked out once for all watchers with the same selector."""
        watcher = self._watcher
        if watcher.selects_all:
            return change.type
        return self._cache.get(change, watcher.selector, watcher.type_of)

    def added(self, entries: Iterable[Entry]) -> Iterable[bytes]:
        """What is there already, as ADDED events."""
        for entry in entries:
            if self._first:
                yield self._whole(self._headed("ADDED", self._call.view(entry)))
            elif self._form.kind:
                yield self._whole(self._event("ADDED", self._call.view(entry)))
            else:
                yield self._whole(self._stored("ADDED", entry))

    def bookmark(self, revision: int, *, end: bool = False) -> bytes:
        """A BOOKMARK event."""
        shown = bookmark(self._call, revision, end=end)
        if self._form.kind == "Table":
            return self._whole(self._frame("BOOKMARK", self._bookmark_table(shown)))
        if self._form.kind:
            shown = tables.partial(shown, self._form.version)
        return self._whole(self._frame("BOOKMARK", shown))

    def error(self, error: StatusError) -> bytes:
        """An ERROR event; the stream ends after it."""
        return self._whole(self._frame("ERROR", error.body()))

    def _state(self, change: Change, kind: str) -> Object:
        if kind == "DELETED":
            return last_state(self._call, change)
        return self._call.view(change.entry)

    def _make(self, kind: str, change: Change) -> bytes:
        if kind == "DELETED" or self._form.kind:
            return self._event(kind, self._state(change, kind))
        return self._stored(kind, change.entry)

    def _make_packed(self, kind: str, change: Change) -> bytes:
        return self._pack(self._make(kind, change))

    def _headed(self, kind: str, value: Object) -> bytes:
        """The first event of a table, which alone tells the columns."""
        self._first = False
        return self._frame(kind, self._table(value))

    def _event(self, kind: str, value: Object) -> bytes:
        if self._form.kind == "Table":
            value = {**self._table(value), "columnDefinitions": None}
        elif self._form.kind:
            value = tables.partial(value, self._form.version)
        return self._frame(kind, value)

    def _table(self, value: Object) -> Object:
        form = self._form
        return tables.table(self._call, [value], form, self._now(), include=form.include)

    def _bookmark_table(self, shown: Object) -> Object:
        """A row without an object's cells: the name is "", all others are null."""
        columns = len(tables.columns(self._call))
        cells = ["", *itertools.repeat(None, columns - 1)]
        row: Object = {"cells": cells, "object": None}
        if self._form.include == "Object":
            row["object"] = shown
        elif self._form.include != "None":
            row["object"] = tables.partial(shown, self._form.version)
        version = shown["metadata"]["resourceVersion"]
        headed, self._first = self._first, False
        return {
            "kind": "Table",
            "apiVersion": f"meta.k8s.io/{self._form.version}",
            "metadata": {"resourceVersion": version},
            "columnDefinitions": tables.definitions(self._call) if headed else None,
            "rows": [row],
        }

    def _now(self) -> datetime:
        return self._stamps.now()

    def _frame(self, kind: str, value: Object) -> bytes:
        if self._form.protobuf:
            return protobuf.envelopes.watch_event(kind, protobuf.envelopes.sealed(value))
        return _line(kind, orjson.dumps(value))

    def _stored(self, kind: str, entry: Entry) -> bytes:
        """The event of an entry that is told as it is stored."""
        if self._form.protobuf:
            return protobuf.envelopes.watch_event(kind, handlers.packed.entry(self._call, entry))
        return _line(kind, data_of(self._call, entry))


def _line(kind: str, data: bytes) -> bytes:
    return b'{"type":"%b","object":%b}\n' % (kind.encode(), data.rstrip(b"\n"))
