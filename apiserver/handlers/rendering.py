"""Stored entries as answers: in the version, form and shape the client asked for."""

from collections.abc import Sequence
from typing import Any

import orjson

from inkube.apiserver.handlers import tables
from inkube.apiserver.http import responses
from inkube.apiserver.http.negotiation import Form
from inkube.apiserver.http.responses import Answer
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
            return responses.data(list_bytes(call, page), warnings=call.warnings)
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
            value = orjson.loads(list_bytes(call, page))
        return responses.render(value, form, warnings=call.warnings)


def data_of(call: Call, entry: Entry) -> bytes:
    """The object's bytes in the call's version; the stored ones where they fit."""
    if call.resource.shows(entry, call.served):
        return entry.data
    return orjson.dumps(call.view(entry))


def list_bytes(call: Call, page: Page) -> bytes:
    """A whole list, joined from stored bytes."""
    head = {
        "apiVersion": call.served.api_version,
        "kind": call.resource.definition.names.list_kind or f"{call.served.kind}List",
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
    if served is call.resource.storage:
        items = [e.data if e.revision > since else data_of(call, e) for e in entries]
    else:
        items = [data_of(call, entry) for entry in entries]
    if call.resource.voice.items_have_type:
        return items
    return storedbytes.untyped(items, served.api_version, served.kind)
