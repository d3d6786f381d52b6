"""Watch events as bytes: whole objects, tables or metadata, as lines of JSON or frames of protobuf.
Each event is encoded once for all its watchers."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple

import orjson

from inkube.apiserver import handlers
from inkube.apiserver.handlers import data_of, tables
from inkube.apiserver.http import Form
from inkube.apiserver.registry import SystemFields
from inkube.apiserver.samples import Samples
from inkube.apiserver.watching.framecache import FrameCache
from inkube.apiserver.watching.watch import Watcher, bookmark, last_state
from inkube.schemas.builtin import protobuf
from inkube.schemas.objects import Object
from inkube.schemas.status import StatusError
from inkube.storage import Change, Entry

TYPES = ("ADDED", "MODIFIED", "DELETED")
SharedFrames = dict[Hashable, tuple[Sequence[Change], bytes, Sequence[bytes]]]
"""Keys: selector, form and wire of watchers. Values: the last changes, their packed bytes, and the
same for each change."""
_EVENTS, _SIZES = "apiserver_watch_events_total", "apiserver_watch_events_sizes"


class NotTransformableError(Exception):
    """The form that a client accepts is one of lists, and an event has one object. kube-apiserver
    ends the stream at such an event (handlers/response.go: asPartialObjectMetadataList)."""


def _no_prefix(revision: int) -> bytes:
    return b""


class Wire(NamedTuple):
    """The encoding of frames on a connection. `pack` encodes a frame, `name` identifies the wire.

    `mark` returns the bytes before a frame that contain the revision from which a client resumes
    after it; 0 means that the client must begin again. `prefix` returns the same after the initial
    events.
    """

    name: str
    pack: Callable[[bytes], bytes]
    mark: Callable[[int], bytes] = _no_prefix
    prefix: Callable[[int], bytes] = _no_prefix


def http_chunk(data: bytes) -> bytes:
    """Return the data as one HTTP chunk."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def _event(frame: bytes) -> bytes:
    return b"data: %b\n\n" % frame.rstrip(b"\n")


def _id(revision: int) -> bytes:
    return b"id: %d\n" % revision if revision else b"id\n"


def _id_prefix(revision: int) -> bytes:
    return b"id: %d\n\n" % revision


RAW_LINES = Wire("", bytes)
CHUNKS = Wire("chunk", http_chunk)
EVENTS = Wire("event", _event, mark=_id, prefix=_id_prefix)
"""Server-Sent Events for HTTP/1.0, where the end of the connection ends the response."""
CHUNKED_EVENTS = Wire(
    "chunked event",
    lambda frame: http_chunk(_event(frame)),
    mark=lambda revision: http_chunk(_id(revision)),
    prefix=lambda revision: http_chunk(_id_prefix(revision)),
)
"""Server-Sent Events. An EventSource that connects again sends the last id that it received."""


class Framer:
    """Encodes a watcher's events as lines or frames, packed for its connection."""

    def __init__(
        self,
        watcher: Watcher,
        form: Form,
        system_fields: SystemFields,
        cache: FrameCache,
        *,
        wire: Wire,
        samples: Samples | None = None,
    ) -> None:
        """`samples` receives the sizes of events while they are observed."""
        self._samples = samples or Samples()
        self._watcher = watcher
        self._cache = cache
        self._request = watcher.request
        self._form = form
        self._system_fields = system_fields
        self._pack = wire.pack
        self._mark = wire.mark
        self.prefix = wire.prefix
        """Returns the bytes after the initial events of a revision."""
        self._keys = {kind: (kind, self._request.served, form, wire.name) for kind in TYPES}
        self._makers = {kind: partial(self._render, kind) for kind in TYPES}
        self._first = form.kind == "Table"
        self._sort = (watcher.selector, form, wire.name)

    def changes(self, changes: Iterable[Change]) -> Iterator[bytes]:
        """Return the events of the changes in order, without changes that the watcher does not
        select."""
        return map(self._measured, filter(None, map(self._change, changes)))

    def burst(self, changes: Sequence[Change], shared_frames: SharedFrames) -> bytes:
        """Return the events of the changes as joined bytes.

        `shared_frames` contains the last bytes for watchers with the same selector, form and wire.
        Watchers of the same changes share them.
        """
        if self._first:
            frames: Sequence[bytes] = [*map(self._change, changes)]
            data = b"".join(frames)
        else:
            same = shared_frames.get(self._sort)
            if same is not None and same[0] == changes:
                _, data, frames = same
            else:
                frames = [*map(self._change, changes)]
                data = b"".join(frames)
                shared_frames[self._sort] = changes, data, frames
        if self._samples.is_observed:
            for frame in filter(None, frames):
                self._measured(frame)
        return data

    def _measured(self, frame: bytes) -> bytes:
        """Record the size of an event."""
        if self._samples.is_observed:
            served = self._request.served.gvr
            self._samples.add(_EVENTS, *served)
            self._samples.observe(len(frame), _SIZES, *served)
        return frame

    def _change(self, change: Change) -> bytes:
        """Return the event of one change, or b"" if the watcher does not select it."""
        kind = self._type_of(change)
        if not kind:
            return b""
        if self._first:
            return self._mark(change.revision) + self._encode_event(kind, self._state(change, kind))
        return self._cache.get(change, self._keys[kind], self._makers[kind])

    def _type_of(self, change: Change) -> str:
        """Return `Watcher.type_of`, computed once for all watchers with the same selector."""
        watcher = self._watcher
        if watcher.selects_all:
            return change.type
        return self._cache.get(change, watcher.selector, watcher.type_of)

    def added_frames(self, entries: Iterable[Entry]) -> Iterable[bytes]:
        """Return ADDED events for the existing objects."""
        return map(self._measured, self._added(entries))

    def _added(self, entries: Iterable[Entry]) -> Iterable[bytes]:
        for entry in entries:
            if self._first:
                yield self._encode_event("ADDED", self._request.view(entry))
            elif self._form.kind:
                yield self._event("ADDED", self._request.view(entry))
            else:
                yield self._stored_event("ADDED", entry)

    def bookmark(self, revision: int, *, end: bool = False) -> bytes:
        """Return a BOOKMARK event. `end` marks the end of the initial events.

        Raises NotTransformableError, as all methods that return events."""
        shown = bookmark(self._request, revision, end=end)
        if self._form.kind == "Table":
            shown = self._bookmark_table(shown)
        elif self._form.kind:
            shown = self._partial(shown)
        return self._measured(self._mark(revision) + self._frame("BOOKMARK", shown))

    def error(self, error: StatusError) -> bytes:
        """Return an ERROR event, the last event of a stream."""
        return self._measured(self._mark(0) + self._frame("ERROR", error.body()))

    def _state(self, change: Change, kind: str) -> Object:
        if kind == "DELETED":
            return last_state(self._request, change)
        return self._request.view(change.entry)

    def _render(self, kind: str, change: Change) -> bytes:
        if kind == "DELETED" or self._form.kind:
            frame = self._event(kind, self._state(change, kind))
        else:
            frame = self._stored_event(kind, change.entry)
        return self._mark(change.revision) + frame

    def _encode_event(self, kind: str, value: Object) -> bytes:
        """Return the first event of a table, the only one with column definitions."""
        self._first = False
        return self._frame(kind, self._table(value))

    def _event(self, kind: str, value: Object) -> bytes:
        if self._form.kind == "Table":
            value = {**self._table(value), "columnDefinitions": None}
        elif self._form.kind:
            value = self._partial(value)
        return self._frame(kind, value)

    def _partial(self, value: Object) -> Object:
        if self._form.kind == "PartialObjectMetadataList":
            raise NotTransformableError
        return tables.partial(value, self._form.version)

    def _table(self, value: Object) -> Object:
        return tables.transform(self._request, [value], self._form, self._now())

    def _bookmark_table(self, shown: Object) -> Object:
        """Return a table with the row of an object that has nothing but its version: the printers
        of Go types show its zero values."""
        columns, version = tables.columns(self._request), shown["metadata"]["resourceVersion"]
        empty = {**shown, "metadata": {"name": "", **shown["metadata"]}}
        row = tables.row(self._request, columns, empty, self._now(), self._form)
        if self._form.include == "Object":
            row["object"] = shown
        elif self._form.include != "None" or "annotations" in shown["metadata"]:  # at the end
            row["object"] = tables.partial(shown, self._form.version)
        headed, self._first = self._first, False
        return {
            "kind": "Table",
            "apiVersion": f"meta.k8s.io/{self._form.version}",
            "metadata": {"resourceVersion": version},
            "columnDefinitions": tables.definitions(self._request) if headed else None,
            "rows": [row],
        }

    def _now(self) -> datetime:
        return self._system_fields.now()

    def _frame(self, kind: str, value: Object) -> bytes:
        if self._form.protobuf:
            frame = protobuf.envelopes.watch_event(kind, protobuf.envelopes.encode_envelope(value))
        else:
            frame = _line(kind, orjson.dumps(value))
        return self._pack(frame)

    def _stored_event(self, kind: str, entry: Entry) -> bytes:
        """Return the event of an entry, from its stored bytes."""
        if self._form.protobuf:
            packed = handlers.packed.entry(self._request, entry)
            frame = protobuf.envelopes.watch_event(kind, packed)
        else:
            frame = _line(kind, data_of(self._request, entry))
        return self._pack(frame)


def _line(kind: str, data: bytes) -> bytes:
    return b'{"type":"%b","object":%b}\n' % (kind.encode(), data.rstrip(b"\n"))
