"""Stored entries as responses, in the version, form and media type that the client requested."""

from collections.abc import Iterator

import orjson

from inkube.apiserver.handlers import listed, packed, rows, stored, tables
from inkube.apiserver.handlers.stored import data_of
from inkube.apiserver.http import YAML, Body, BodyResponse, Form, responses
from inkube.apiserver.registry import Page, Request, SystemFields
from inkube.schemas.objects import Object
from inkube.storage import Entry

PLACE = 32
"""Bytes of memory of one object of a list until the list is sent, in addition to the stored
bytes."""


class Renderer:
    """Turns entries and pages into responses. The clock is for ages in tables."""

    def __init__(self, system_fields: SystemFields) -> None:
        self._system_fields = system_fields

    def entry(self, request: Request, entry: Entry, form: Form, *, code: int = 200) -> BodyResponse:
        """Return one object."""
        if form.plain_json:
            return responses.data(data_of(request, entry), code=code, warnings=request.warnings)
        if form.protobuf and not form.kind:
            body = packed.entry(request, entry)
            return responses.data(body, code=code, warnings=request.warnings, media=form.media)
        value = request.view(entry)
        if form.kind:
            value = tables.transform(request, [value], form, self._system_fields.now())
        return responses.render(value, form, code=code, warnings=request.warnings)

    async def page(self, request: Request, page: Page, form: Form) -> BodyResponse:
        """Return a list. A long one is encoded while it is sent. Raises StatusError 400 or 406."""
        if form.kind == "Table":
            page = _in_row_order(request, page)
        body = await self._list(request, page, form)
        answer = responses.data(body, warnings=request.warnings, media=form.media)
        answer.pinned_bytes += len(page.entries) * PLACE
        return answer

    async def _list(self, request: Request, page: Page, form: Form) -> Body:
        if form.plain_json:
            return stored.list_body(request, page)
        if form.protobuf and not form.kind:
            return await packed.page(request, page)
        if form.compact_table and request.subresource != "scale":
            return rows.body(request, page, form, self._system_fields.now())
        if stored.is_long(page.entries):
            if form.protobuf:
                return await packed.metadata(request, page, form, self._system_fields.now())
            return listed.first_pieces(self._pieces(request, page, form))
        if form.kind:
            value = tables.transform(
                request,
                [request.view(entry) for entry in page.entries],
                form,
                self._system_fields.now(),
                metadata=page.metadata(request),
            )
        else:
            value = orjson.loads(b"".join(stored.pieces(request, page)))
        return responses.body(value, form)

    def _pieces(self, request: Request, page: Page, form: Form) -> Iterator[bytes]:
        """Yield a long list of objects or rows in pieces, in a form other than protobuf."""
        objects: Iterator[Object]
        if form.kind:
            metadata, now = page.metadata(request), self._system_fields.now()
            head, member, make = tables.transformed_list(request, form, now, metadata=metadata)
            objects = (make(request.view(entry)) for entry in page.entries)
        else:
            head, member = stored.head(request, page), "items"
            objects = (orjson.loads(item) for item in stored.items(request, page.entries))
        if form.media == YAML:
            return listed.yaml(head, member, objects)
        if form.pretty:
            return listed.indented_list(head, member, objects)
        return listed.json_list(head, member, (orjson.dumps(each) for each in objects))


def _in_row_order(request: Request, page: Page) -> Page:
    """Return a page with its entries in the order of the rows of a Table."""
    order = request.resource.wording.row_order(request.served.gvr)
    if order is None:
        return page
    entries = sorted(page.entries, key=lambda entry: order(request.view(entry)))
    return page._replace(entries=entries)
