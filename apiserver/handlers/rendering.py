"""Stored entries as answers: in the version, form and shape the client asked for."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import orjson

from inkube.apiserver.handlers import tables
from inkube.apiserver.http import responses
from inkube.apiserver.http.delivery import PIECE, Answer, Body
from inkube.apiserver.http.negotiation import Form
from inkube.apiserver.registry import storedbytes
from inkube.apiserver.registry.calls import Call
from inkube.apiserver.registry.listing import Page
from inkube.apiserver.registry.stamps import Stamps
from inkube.storage.entry import Entry

Object = dict[str, Any]


class Renderer:
    """Turns entries and pages into responses; the clock is for ages in tables."""

    def __init__(self, stamps: Stamps) -> None:
        self._stamps = stamps

    def entry(self, call: Call, entry: Entry, form: Form, *, code: int = 200) -> Answer:
        """One object."""
        if form.plain_json:
            return responses.data(data_of(call, entry), code=code, warnings=call.warnings)
        value = call.view(entry)
        if form.kind:
            value = tables.transform(call, [value], form, self._stamps.now(), include=form.include)
        return responses.render(value, form, code=code, warnings=call.warnings)

    def page(self, call: Call, page: Page, form: Form) -> Answer:
        """A list."""
        if form.plain_json:
            return responses.data(list_body(call, page), warnings=call.warnings)
        values = [call.view(entry) for entry in page.entries]
        if form.kind:
            value = tables.transform(
                call,
                values,
                form,
                self._stamps.now(),
                metadata=page.metadata(call),
                include=form.include,
            )
        else:
            value = orjson.loads(b"".join(_pieces(call, page)))
        return responses.render(value, form, warnings=call.warnings)


def data_of(call: Call, entry: Entry) -> bytes:
    """The object's bytes in the call's version; the stored ones where they fit."""
    if call.resource.shows(entry, call.served):
        return entry.data
    return orjson.dumps(call.view(entry))


def list_body(call: Call, page: Page) -> Body:
    """A whole list: joined from stored bytes, a long one while it is sent."""
    return _pieces(call, page) if _is_long(page.entries) else b"".join(_pieces(call, page))


def _is_long(entries: Sequence[Entry]) -> bool:
    size = 0
    for entry in entries:
        size += len(entry.data)
        if size > responses.GZIP_FROM:
            return True
    return False


def _pieces(call: Call, page: Page) -> Iterator[bytes]:
    """A list in pieces of about PIECE bytes. What has to be converted is so before the first."""
    head = {
        "apiVersion": call.served.api_version,
        "kind": call.resource.definition.names.list_kind or f"{call.served.kind}List",
        "metadata": page.metadata(call),
    }
    start = orjson.dumps(head)[:-1] + b',"items":['
    items = _items(call, page.entries)
    return _joined(start, items)


def _joined(start: bytes, items: Iterable[bytes]) -> Iterator[bytes]:
    waiting, size = [start], len(start)
    before = b""
    for item in items:
        waiting += (before, item)
        before = b","
        size += len(item)
        if size > PIECE:
            yield b"".join(waiting)
            waiting, size = [], 0
    waiting.append(b"]}\n")
    yield b"".join(waiting)


def _items(call: Call, entries: Sequence[Entry]) -> Iterable[bytes]:
    since, served = call.resource.since, call.served
    items: Iterable[bytes]
    if served is not call.resource.storage:
        items = [data_of(call, entry) for entry in entries]
    elif all(entry.revision > since for entry in entries):
        items = (entry.data for entry in entries)
    else:
        items = [e.data if e.revision > since else data_of(call, e) for e in entries]
    if call.resource.voice.items_have_type:
        return items
    return storedbytes.untyped(items, served.api_version, served.kind)
