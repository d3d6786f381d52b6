"""Stored entries as JSON: one object or a list, in the version of the call."""

from collections.abc import Iterable, Iterator, Sequence

import orjson

from inkube.apiserver.http import responses
from inkube.apiserver.http.delivery import PIECE, Body
from inkube.apiserver.registry import storedbytes
from inkube.apiserver.registry.calls import Call
from inkube.apiserver.registry.listing import Page
from inkube.storage.entry import Entry


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
    return pieces(call, page) if _is_long(page.entries) else b"".join(pieces(call, page))


def _is_long(entries: Sequence[Entry]) -> bool:
    size = 0
    for entry in entries:
        size += len(entry.data)
        if size > responses.GZIP_FROM:
            return True
    return False


def pieces(call: Call, page: Page) -> Iterator[bytes]:
    """A list in pieces of about PIECE bytes. What has to be converted is so before the first."""
    head = {
        "apiVersion": call.served.api_version,
        "kind": list_kind(call),
        "metadata": page.metadata(call),
    }
    start = orjson.dumps(head)[:-1] + b',"items":['
    items = _items(call, page.entries)
    return joined(start, items)


def joined(start: bytes, items: Iterable[bytes]) -> Iterator[bytes]:
    """A document in pieces of about PIECE bytes: its start, its items, and the end of both."""
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
