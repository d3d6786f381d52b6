"""Stored entries as JSON: one object or a list, in the version of the call."""

from collections.abc import Sequence

import orjson

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


def list_bytes(call: Call, page: Page) -> bytes:
    """A whole list, joined from stored bytes."""
    head = {
        "apiVersion": call.served.api_version,
        "kind": list_kind(call),
        "metadata": page.metadata(call),
    }
    # in one join, so that a long list is copied once
    start = orjson.dumps(head)[:-1] + b',"items":['
    items = _items(call, page.entries)
    if not items:
        return start + b"]}\n"
    items[0] = start + items[0]
    items[-1] += b"]}\n"
    return b",".join(items)


def _items(call: Call, entries: Sequence[Entry]) -> list[bytes]:
    since, served = call.resource.since, call.served
    if not call.resource.voice.items_have_type:
        items = (data_of(call, entry) for entry in entries)
        return storedbytes.untyped(items, served.api_version, served.kind)
    if served is not call.resource.storage:
        return [data_of(call, entry) for entry in entries]
    return [e.data if e.revision > since else data_of(call, e) for e in entries]
