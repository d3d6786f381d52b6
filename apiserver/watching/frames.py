"""Watch events as bytes: whole objects, tables or metadata, as lines of JSON or frames of protobuf;
each made once for all its watchers."""

import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple

import orjson

from inkube.apiserver import handlers
from inkube.apiserver.handlers import data_of, tables
from inkube.apiserver.http import Form
from inkube.apiserver.registry import Stamps
from inkube.apiserver.watching.framecache import FrameCache
from inkube.apiserver.watching.watch import Watcher, bookmark, last_state
from inkube.schemas.builtin import protobuf
from inkube.schemas.objects import Object
from inkube.schemas.status import StatusError
from inkube.storage import Change, Entry

TYPES = ("ADDED", "MODIFIED", "DELETED")
SharedFrames = dict[Hashable, tuple[Sequence[Change], bytes]]
"""By sort of watcher: the changes told last, and their bytes on the wire."""


def _unmarked(revision: int) -> bytes:
    return b""


class Wire(NamedTuple):
    """How a frame lies on a connection: `pack` puts it there, `name` tells wires apart.

    `mark`: what stands before a frame and tells from which revision a client goes on that has read
    it; 0 where it has to begin anew. `begun` tells it after what was there already.
    """

    name: str
    pack: Callable[[bytes], bytes]
    mark: Callable[[int], bytes] = _unmarked
    begun: Callable[[int], bytes] = _unmarked


def chunked(data: bytes) -> bytes:
    """One HTTP chunk."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def _event(frame: bytes) -> bytes:
    return b"data: %b\n\n" % frame.rstrip(b"\n")


def _id(revision: int) -> bytes:
    return b"id: %d\n" % revision if revision else b"id\n"


def _id_alone(revision: int) -> bytes:
    return b"id: %d\n\n" % revision


PLAIN = Wire("", bytes)
CHUNKS = Wire("chunk", chunked)
EVENTS = Wire("event", _event, mark=_id, begun=_id_alone)
"""Server-Sent Events of HTTP/1.0, where the end of the connection is the end of the answer."""
CHUNKED_EVENTS = Wire(
    "chunked event",
    lambda frame: chunked(_event(frame)),
    mark=lambda revision: chunked(_id(revision)),
    begun=lambda revision: chunked(_id_alone(revision)),
)
"""Server-Sent Events. An EventSource that connects again sends the last id that it was told."""


class Framer:
    """Turns what a watcher sees into lines or frames, packed as they lie on its connection."""

    def __init__(
        self, watcher: Watcher, form: Form, stamps: Stamps, cache: FrameCache, *, wire: Wire
    ) -> None:
        self._watcher = watcher
        self._cache = cache
        self._call = watcher.call
        self._form = form
        self._stamps = stamps
        self._pack = wire.pack
        self._mark = wire.mark
        self.begun = wire.begun
        """What follows on all that was there at a revision."""
        self._keys = {kind: (kind, self._call.served, form, wire.name) for kind in TYPES}
        self._makers = {kind: partial(self._make, kind) for kind in TYPES}
        self._first = form.kind == "Table"
        self._sort = (watcher.selector, form, wire.name)

    def changes(self, changes: Iterable[Change]) -> Iterator[bytes]:
        """The events of some changes, in order; of those that do not concern the watcher none."""
        return filter(None, map(self._change, changes))

    def burst(self, changes: Sequence[Change], told: SharedFrames) -> bytes:
        """The same, joined.

        `told` has what watchers of the same sort were just told: those who are told the same
        changes share the bytes.
        """
        if self._first:
            return b"".join(map(self._change, changes))
        same = told.get(self._sort)
        if same is not None and same[0] == changes:
            return same[1]
        data = b"".join(map(self._change, changes))
        told[self._sort] = changes, data
        return data

    def _change(self, change: Change) -> bytes:
        """The event of one change, empty when it does not concern the watcher."""
        kind = self._type_of(change)
        if not kind:
            return b""
        if self._first:
            return self._mark(change.revision) + self._headed(kind, self._state(change, kind))
        return self._cache.get(change, self._keys[kind], self._makers[kind])

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
                yield self._headed("ADDED", self._call.view(entry))
            elif self._form.kind:
                yield self._event("ADDED", self._call.view(entry))
            else:
                yield self._stored("ADDED", entry)

    def bookmark(self, revision: int, *, end: bool = False) -> bytes:
        """A BOOKMARK event."""
        shown = bookmark(self._call, revision, end=end)
        if self._form.kind == "Table":
            shown = self._bookmark_table(shown)
        elif self._form.kind:
            shown = tables.partial(shown, self._form.version)
        return self._mark(revision) + self._frame("BOOKMARK", shown)

    def error(self, error: StatusError) -> bytes:
        """An ERROR event; the stream ends after it."""
        return self._mark(0) + self._frame("ERROR", error.body())

    def _state(self, change: Change, kind: str) -> Object:
        if kind == "DELETED":
            return last_state(self._call, change)
        return self._call.view(change.entry)

    def _make(self, kind: str, change: Change) -> bytes:
        if kind == "DELETED" or self._form.kind:
            frame = self._event(kind, self._state(change, kind))
        else:
            frame = self._stored(kind, change.entry)
        return self._mark(change.revision) + frame

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
            frame = protobuf.envelopes.watch_event(kind, protobuf.envelopes.sealed(value))
        else:
            frame = _line(kind, orjson.dumps(value))
        return self._pack(frame)

    def _stored(self, kind: str, entry: Entry) -> bytes:
        """The event of an entry that is told as it is stored."""
        if self._form.protobuf:
            packed = handlers.packed.entry(self._call, entry)
            frame = protobuf.envelopes.watch_event(kind, packed)
        else:
            frame = _line(kind, data_of(self._call, entry))
        return self._pack(frame)


def _line(kind: str, data: bytes) -> bytes:
    return b'{"type":"%b","object":%b}\n' % (kind.encode(), data.rstrip(b"\n"))
