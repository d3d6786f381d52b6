"""Rows of tables as bytes, each made once from the stored bytes of the entry that it shows.

A row says the same as long as the entry and the columns do, all but its ages: they are filled in
whenever it is read. To make a row takes 5 to 10 µs, to fill one in less than one. Rows are kept by
the stored bytes themselves, as `packed` keeps messages; `tables` says what is in one.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

import orjson

from inkube.apiserver.handlers import tables
from inkube.apiserver.handlers.stored import begun, joined
from inkube.apiserver.http.delivery import Body
from inkube.apiserver.http.negotiation import Form
from inkube.apiserver.registry.calls import Call
from inkube.apiserver.registry.listing import Page
from inkube.apiserver.registry.served import Served
from inkube.schemas import caches, durations
from inkube.storage import columns
from inkube.storage.entry import Entry

Object = dict[str, Any]
ENTRIES = 32_768
BYTES = 32 * 2**20
"""Of stored bytes and rows together: 20,000 objects of 1 KB."""
_NULL = len(b"null}")
"""How a row ends that is to show an object, and an object that is to show its metadata."""


class _Row(NamedTuple):
    """What stands before the first age of a row, and for each age since when it counts and what
    stands behind it."""

    begins: bytes
    ages: Sequence[tuple[str, bytes]]


_MADE: Final[caches.Weighed[tuple[Served, str, str, bytes], _Row]] = caches.Weighed(
    __name__, "_MADE", ENTRIES, BYTES
)


def body(call: Call, page: Page, form: Form, now: datetime) -> Body:
    """A list as a Table in compact JSON, a long one made while it is sent. Raises StatusError
    400."""
    found = tables.transformed(call, form, now, metadata=page.metadata(call), include=form.include)
    return begun(joined(found.head, found.member, _filled(_Maker(call, form), page.entries, now)))


def _filled(maker: "_Maker", entries: Sequence[Entry], now: datetime) -> Iterator[bytes]:
    """Rows with their ages."""
    ages: dict[str, bytes] = {}
    for line, counted in maker.rows(entries):
        for began, piece in counted:
            age = ages.get(began)
            if age is None:
                age = ages[began] = durations.age(began, now).encode()
            line += age + piece
        yield line


class _Maker:
    """Makes the rows of one list, and keeps those of stored bytes."""

    def __init__(self, call: Call, form: Form) -> None:
        self._call = call
        self._form = form
        self._columns = tables.columns(call)
        self._unfilled = durations.Unfilled()
        self._of_metadata = orjson.dumps(tables.partial({"metadata": None}, form.version))[:-_NULL]

    def rows(self, entries: Sequence[Entry]) -> Iterator[_Row]:
        """The rows of entries in the version of the call."""
        call, served = self._call, self._call.served
        shows, since = call.resource.shows, call.resource.since
        if self._form.include == "Object":  # all of the stored bytes once more
            for entry in entries:
                yield self._made(call.view(entry))
        elif call.resource.storage is served and columns.oldest(entries) > since:
            yield from map(self._kept, columns.data(entries))
        else:
            for entry in entries:
                fits = shows(entry, served)
                yield self._kept(entry.data) if fits else self._made(call.view(entry))

    def _kept(self, data: bytes) -> _Row:
        """The row of bytes that say what the version shows."""
        key = self._call.served, self._form.version, self._form.include, data
        row = _MADE.get(key)
        if row is None:
            # decoded here and let go: what entries keep decoded is for other work
            row = self._made(orjson.loads(data))
            size = len(row.begins) + sum(len(piece) for _, piece in row.ages)
            _MADE.weigh(key, row, len(data) + size)
        return row

    def _made(self, obj: Object) -> _Row:
        """The row of an object. Its cells are written apart: only they hold ages, which are looked
        for, and what they stand beside needs no value around it to be written."""
        form, unfilled = self._form, self._unfilled
        row = tables.row(self._call, self._columns, obj, unfilled, form, "None")
        pieces, began = unfilled.cut(orjson.dumps(row)[:-_NULL])
        pieces[-1] += self._shown(obj) + b"}"
        return _Row(pieces[0], tuple(zip(began, pieces[1:], strict=True)))

    def _shown(self, obj: Object) -> bytes:
        """What a row shows of its object beside the cells."""
        if self._form.include == "None":
            return b"null"
        if self._form.include == "Object":
            return orjson.dumps(obj)
        return self._of_metadata + orjson.dumps(obj["metadata"]) + b"}"
