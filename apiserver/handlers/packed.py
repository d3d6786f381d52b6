"""Stored entries of built-in kinds as protobuf, each encoded one time from its stored bytes.

The result is cached by the stored bytes, which never change. A GET or a list joins cached parts.
Loaded with the first request for protobuf.
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

import orjson

from inkube.apiserver.handlers import listed, stored, tables
from inkube.apiserver.http import Body, Form
from inkube.apiserver.registry import Page, Request
from inkube.schemas import builtin, caches
from inkube.schemas.served import Served
from inkube.storage import Entry

ENTRIES = 65_536
BYTES = 64 * 1024 * 1024
"""The size of the cache, stored bytes and messages together: 20,000 pods of about 2 KB as JSON."""
SLICE = 256
"""Objects that are encoded before the event loop runs other work."""
_MADE: Final[caches.Weighed[tuple[Served, bytes], bytes]] = caches.Weighed(
    __name__, "_MADE", ENTRIES, BYTES, lambda key, message: len(key[1]) + len(message)
)


def entry(request: Request, stored: Entry) -> bytes:
    """Return one object."""
    return _MADE.get((request.served, stored.data)) or _encode(request, stored)


async def page(request: Request, list_page: Page) -> Body:
    """Return a list. A long one is encoded while it is sent."""
    served, get = request.served, _MADE.find()

    def encode(each: Entry) -> bytes:
        return get((served, each.data)) or _encode(request, each)

    kind, metadata = stored.list_kind(request), list_page.metadata(request)
    item = builtin.envelopes.item(served.api_version, served.kind)
    if not stored.is_long(list_page.entries):
        items = [encode(each)[item] for each in list_page.entries]
        start = builtin.envelopes.list_start(
            served.api_version, kind, metadata, sum(map(len, items))
        )
        return b"".join([start, *items, builtin.envelopes.TAIL])
    size = await _size(list_page.entries, encode, item)
    start = builtin.envelopes.list_start(served.api_version, kind, metadata, size)
    return _pieces(start, list_page.entries, encode, item)


async def metadata(request: Request, list_page: Page, form: Form, now: datetime) -> Body:
    """Return the metadata of a long list, encoded while it is sent. Raises StatusError 406."""
    rendering = tables.transformed_list(request, form, now, metadata=list_page.metadata(request))
    version, kind = rendering.head["apiVersion"], rendering.head["kind"]
    item = builtin.envelopes.item(version, "PartialObjectMetadata")

    def encode(each: Entry) -> bytes:
        return builtin.envelopes.encode_envelope(rendering.transform_item(request.view(each)))

    size = await _size(list_page.entries, encode, item)
    start = builtin.envelopes.list_start(version, kind, rendering.head["metadata"], size)
    return _pieces(start, list_page.entries, encode, item)


async def _size(entries: Sequence[Entry], encode: Callable[[Entry], bytes], item: slice) -> int:
    """Return the length in bytes of the items of a list, which precedes them.

    It encodes from the last item to the first, so that the items that are sent first are still
    remembered.
    """
    size = 0
    for number, entry in enumerate(reversed(entries), 1):
        size += len(encode(entry)[item])
        if not number % SLICE:
            await asyncio.sleep(0)
    return size


def _pieces(
    start: bytes, entries: Sequence[Entry], encode: Callable[[Entry], bytes], item: slice
) -> Body:
    """Return a list as a body, which begins with `start`."""
    items = (encode(entry)[item] for entry in entries)
    return listed.first_pieces(listed.chunks(start, items, builtin.envelopes.TAIL, b""))


def _encode(request: Request, entry: Entry) -> bytes:
    # decoded without the entry's cache, which is for other work
    obj = orjson.loads(stored.data_of(request, entry))
    made = builtin.envelopes.encode_envelope(obj)
    return _MADE.keep((request.served, entry.data), made)
