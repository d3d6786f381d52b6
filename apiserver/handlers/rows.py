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
from inkube.apiserver.handlers.listed import begun, joined
from inkube.apiserver.http.delivery import Body
from inkube.apiserver.http.negotiation import Form
from inkube.apiserver.registry.calls import Call
from inkube.apiserver.registry.listing import Page
from inkube.apiserver.registry.served import Served
from inkube.schemas import caches, durations
from inkube.storage.entry import Entry

Object = dict[str, Any]
ENTRIES = 32_768
BYTES = 32 * 2**20
"""Of stored bytes and rows together: 20,000 objects of 1 KB."""


class _Row(NamedTuple):
    """What stands around the ages of a row, and since when they count: one less."""

    pieces: list[bytes]
    began: list[str]


_MADE: Final[caches.Weighed[tuple[Served, str, str, bytes], _Row]] = caches.Weighed(
    __name__, "_MADE", ENTRIES, BYTES
)


def body(call: Call, page: Page, form: Form, now: datetime) -> Body:
    """A list as a Table in compact JSON, a long one made while it is sent. Raises StatusError
    400."""
    found = tables.transformed(call, form, now, metadata=page.metadata(call), include=form.include)
    return begun(joined(found.head, found.member, _rows(call, page.entries, form, now)))


def _rows(call: Call, entries: Sequence[Entry], form: Form, now: datetime) -> Iterator[bytes]:
    resource, served, get = call.resource, call.served, _MADE.get
    stored, since = served is resource.storage and resource.converter is None, resource.since
    version, include = form.version, form.include
    keeps = include != "Object"
    make = _Maker(call, form)
    ages: dict[str, bytes] = {}
    for entry in entries:
        data = entry.data
        if keeps and ((stored and entry.revision > since) or resource.shows(entry, served)):
            key = served, version, include, data
            row = get(key)
            if row is None:
                # decoded here and let go: what entries keep decoded is for other work
                row = make(orjson.loads(data))
                _MADE.weigh(key, row, len(data) + sum(map(len, row.pieces)))
        else:  # other bytes than those that are stored, or all of them once more
            row = make(call.view(entry))
        line, *others = row.pieces
        for began, piece in zip(row.began, others, strict=True):
            age = ages.get(began)
            if age is None:
                age = ages[began] = durations.age(began, now).encode()
            line += age + piece
        yield line


class _Maker:
    """Makes the rows of one list."""

    def __init__(self, call: Call, form: Form) -> None:
        self._call = call
        self._form = form
        self._columns = tables.columns(call)
        self._unfilled = durations.Unfilled()

    def __call__(self, obj: Object) -> _Row:
        form, unfilled = self._form, self._unfilled
        row = tables.row(self._call, self._columns, obj, unfilled, form, form.include)
        return _Row(*unfilled.cut(orjson.dumps(row)))
