"""Stored entries as JSON: one object or a list, in the version of the call."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import orjson

from inkube.apiserver.http import responses
from inkube.apiserver.http.delivery import PIECE, Body
from inkube.apiserver.registry import storedbytes
from inkube.apiserver.registry.calls import Call
from inkube.apiserver.registry.listing import Page
from inkube.storage import columns
from inkube.storage.entry import Entry

Object = dict[str, Any]


def data_of(call: Call, entry: Entry) -> bytes:
    """The object's bytes in the call's version; the stored ones where they fit."""
    if call.resource.shows(entry, call.served):
        return entry.data
    return orjson.dumps(call.view(entry))


def list_kind(call: Call) -> str:
    """What a list of the kind is called."""
    return call.resource.definition.names.list_kind or f"{call.served.kind}List"


def list_body(call: Call, page: Page) -> Body:
    """A whole list: joined from stored bytes, a long one while it is sent."""
    return pieces(call, page) if is_long(page.entries) else b"".join(pieces(call, page))


def is_long(entries: Sequence[Entry]) -> bool:
    """Whether a list of these is better made while it is sent."""
    size = 0
    for data in columns.data(entries):
        size += len(data)
        if size > responses.GZIP_FROM:
            return True
    return False


def pieces(call: Call, page: Page) -> Iterator[bytes]:
    """A list in pieces of about PIECE bytes, each made when it is asked for."""
    head = {
        "apiVersion": call.served.api_version,
        "kind": list_kind(call),
        "metadata": page.metadata(call),
    }
    return joined(head, "items", _items(call, page.entries))


def begun(pieces: Iterator[bytes]) -> Body:
    """A body whose length only its making tells: whole where it is short, else made on while it is
    sent."""
    made, size = list[bytes](), 0
    for piece in pieces:
        made.append(piece)
        size += len(piece)
        if size >= responses.GZIP_FROM:
            return _continued(made, pieces)
    return b"".join(made)


def _continued(made: list[bytes], pieces: Iterator[bytes]) -> Iterator[bytes]:
    # a generator, and no itertools.chain: it is closed with the answer, and lets go of all
    while made:
        yield made.pop(0)
    yield from pieces


def joined(head: Object, member: str, items: Iterable[bytes]) -> Iterator[bytes]:
    """An object whose last member is a list of these items, in pieces of about PIECE bytes."""
    start = b'%b,"%b":[' % (orjson.dumps(head)[:-1], member.encode())
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
    served = call.served
    items: Iterable[bytes]
    if served is call.resource.storage and columns.oldest(entries) > call.resource.since:
        items = columns.data(entries)
    else:
        items = (data_of(call, entry) for entry in entries)
    if call.resource.voice.items_have_type:
        return items
    return storedbytes.untyped(items, served.api_version, served.kind)
