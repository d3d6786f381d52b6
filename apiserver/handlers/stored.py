"""Stored entries as JSON: one object or a list, in the version of the request."""

from collections.abc import Iterable, Iterator, Sequence

import orjson

from inkube.apiserver.handlers import listed
from inkube.apiserver.http import Body, responses
from inkube.apiserver.registry import Page, Request, storedbytes
from inkube.schemas.objects import Object
from inkube.storage import Entry, columns


def data_of(request: Request, entry: Entry) -> bytes:
    """Return the object's bytes in the request's version, which are the stored ones if they need no
    conversion."""
    if request.resource.shows(entry, request.served):
        return entry.data
    return orjson.dumps(request.view(entry))


def list_kind(request: Request) -> str:
    """Return the kind of a list of these objects."""
    return request.resource.definition.names.list_kind or f"{request.served.kind}List"


def list_body(request: Request, page: Page) -> Body:
    """Return a list that is joined from stored bytes. A long one is joined while it is sent."""
    if is_long(page.entries):
        return pieces(request, page)
    return listed.short_json_list(head(request, page), "items", items(request, page.entries))


def is_long(entries: Sequence[Entry]) -> bool:
    """Return whether a list of these entries is long enough to be made while it is sent."""
    size = 0
    for data in columns.data(entries):
        size += len(data)
        if size > responses.GZIP_FROM:
            return True
    return False


def pieces(request: Request, page: Page) -> Iterator[bytes]:
    """Yield a list in pieces of about PIECE bytes, which are made while they are sent."""
    return listed.json_list(head(request, page), "items", items(request, page.entries))


def head(request: Request, page: Page) -> Object:
    """Return a list without its items."""
    return {
        "apiVersion": request.served.api_version,
        "kind": list_kind(request),
        "metadata": page.metadata(request),
    }


def items(request: Request, entries: Sequence[Entry]) -> Iterable[bytes]:
    """Return the items of a list."""
    served = request.served
    found: Iterable[bytes]
    if request.resource.shows_all(entries, served):
        found = columns.data(entries)
    else:
        found = (data_of(request, entry) for entry in entries)
    if request.resource.wording.items_have_type:
        return found
    return storedbytes.untyped(found, served.api_version, served.kind)
