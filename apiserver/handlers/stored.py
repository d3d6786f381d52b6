"""Stored entries as JSON: one object or a list, in the version of the call."""

from collections.abc import Iterable, Iterator, Sequence

import orjson

from inkube.apiserver.handlers import listed
from inkube.apiserver.http import Body, responses
from inkube.apiserver.registry import Call, Page, storedbytes
from inkube.schemas.objects import Object
from inkube.storage import Entry, columns


def data_of(call: Call, entry: Entry) -> bytes:
    """Return the object's bytes in the call's version, which are the stored ones if no conversion
    is needed."""
    if call.resource.shows(entry, call.served):
        return entry.data
    return orjson.dumps(call.view(entry))


def list_kind(call: Call) -> str:
    """Return the kind of a list of these objects."""
    return call.resource.definition.names.list_kind or f"{call.served.kind}List"


def list_body(call: Call, page: Page) -> Body:
    """Return a list that is joined from stored bytes. A long one is joined while it is sent."""
    return pieces(call, page) if is_long(page.entries) else b"".join(pieces(call, page))


def is_long(entries: Sequence[Entry]) -> bool:
    """Return whether a list of these entries is long enough to be made while it is sent."""
    size = 0
    for data in columns.data(entries):
        size += len(data)
        if size > responses.GZIP_FROM:
            return True
    return False


def pieces(call: Call, page: Page) -> Iterator[bytes]:
    """Yield a list in pieces of about PIECE bytes, which are made while they are sent."""
    return listed.json_list(head(call, page), "items", items(call, page.entries))


def head(call: Call, page: Page) -> Object:
    """Return a list without its items."""
    return {
        "apiVersion": call.served.api_version,
        "kind": list_kind(call),
        "metadata": page.metadata(call),
    }


def items(call: Call, entries: Sequence[Entry]) -> Iterable[bytes]:
    """Return the items of a list."""
    served = call.served
    found: Iterable[bytes]
    if call.resource.shows_all(entries, served):
        found = columns.data(entries)
    else:
        found = (data_of(call, entry) for entry in entries)
    if call.resource.wording.items_have_type:
        return found
    return storedbytes.untyped(found, served.api_version, served.kind)
