"""Stored entries as answers: in the version, form and shape the client asked for."""

from collections.abc import Iterator
from typing import Any

import orjson

from inkube.apiserver import handlers
from inkube.apiserver.handlers import rows, tables
from inkube.apiserver.handlers.stored import begun, data_of, is_long, joined, list_body, pieces
from inkube.apiserver.http import responses
from inkube.apiserver.http.delivery import Answer
from inkube.apiserver.http.negotiation import JSON, Form
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
        if form.protobuf and not form.kind:
            body = handlers.packed.entry(call, entry)
            return responses.data(body, code=code, warnings=call.warnings, media=form.media)
        value = call.view(entry)
        if form.kind:
            value = tables.transform(call, [value], form, self._stamps.now(), include=form.include)
        return responses.render(value, form, code=code, warnings=call.warnings)

    def page(self, call: Call, page: Page, form: Form) -> Answer:
        """A list."""
        if form.plain_json:
            return responses.data(list_body(call, page), warnings=call.warnings)
        if form.protobuf and not form.kind:
            body = handlers.packed.page(call, page)
            return responses.data(body, warnings=call.warnings, media=form.media)
        if form.compact_table and call.subresource != "scale":
            table = rows.body(call, page, form, self._stamps.now())
            return responses.data(table, warnings=call.warnings)
        if form.kind and form.media == JSON and not form.pretty and is_long(page.entries):
            listed = begun(self._transformed(call, page, form))
            return responses.data(listed, warnings=call.warnings)
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
            value = orjson.loads(b"".join(pieces(call, page)))
        return responses.render(value, form, warnings=call.warnings)

    def _transformed(self, call: Call, page: Page, form: Form) -> Iterator[bytes]:
        """A long table, or list of metadata, made while it is sent."""
        metadata, now = page.metadata(call), self._stamps.now()
        head, member, make = tables.transformed(
            call, form, now, metadata=metadata, include=form.include
        )
        items = (orjson.dumps(make(call.view(entry))) for entry in page.entries)
        return joined(head, member, items)
