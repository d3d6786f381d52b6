"""One short coroutine for each verb: decode the request, call the registry, respond.

This module contains the parts of a verb that depend on HTTP. A handler takes an `Exchange`
(request, request, form of the response) and returns a response.
"""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from aiohttp import web
from multidict import MultiDictProxy

from inkube.apiserver.faults import Injection
from inkube.apiserver.handlers.rendering import Renderer
from inkube.apiserver.http import (
    BodyResponse,
    Form,
    RequestInfo,
    bodies,
    read_delete_options,
    read_list_options,
    read_timeout,
    read_write_options,
    responses,
)
from inkube.apiserver.registry import (
    Body,
    Change,
    DeleteOptions,
    Outcome,
    PlainEngine,
    Registry,
    Request,
    WriteOptions,
    changes,
    intake,
    listing,
    patches,
    selections,
    versions,
)
from inkube.schemas import status
from inkube.storage import Entry


class Exchange(NamedTuple):
    """A request that is being processed, over HTTP, with the form of the response."""

    http: web.BaseRequest
    info: RequestInfo
    request: Request
    form: Form
    engine: PlainEngine
    """Runs work with large bodies."""
    injection: Injection | None = None
    """The effects of faults on this request."""

    @property
    def query(self) -> MultiDictProxy[str]:
        """The query parameters."""
        return self.info.query

    @property
    def lenient(self) -> bool:
        """Whether `dryRun=true` is read as All."""
        return self.request.resource.wording.reads_dry_run_true

    def with_options(self, kind: str, *, apply: bool = False) -> Request:
        """Return the request with the options of a create, update or patch. Raises StatusError
        422."""
        request, query = self.request, self.info.query
        if not query and not apply:
            return request
        options, warnings = read_write_options(query, kind, lenient=self.lenient, apply=apply)
        for warning in warnings:
            request.warn(warning)
        manager = options.field_manager or request.manager
        return request._replace(options=options, manager=manager, timeout=read_timeout(query))

    def accepted(self, request: Request, body: bytes, media: str) -> Awaitable[Body]:
        """Return the object in a body. Raises StatusError 400, 415 or 422."""
        return self.engine.run(request.effort(len(body)), _accepted, request, body, media)


def _accepted(request: Request, body: bytes, media: str) -> Body:
    return intake.accept(request, bodies.decode_object(request, body, media))


Handler = Callable[[Exchange], Awaitable[web.StreamResponse]]


class Handlers:
    """The handlers of all verbs, with one registry."""

    def __init__(self, registry: Registry, renderer: Renderer) -> None:
        self._registry = registry
        self._renderer = renderer

    @property
    def by_verb(self) -> dict[str, Handler]:
        """A new table of the handlers by verb."""
        return {
            "get": self.get,
            "list": self.list,
            "create": self.create,
            "update": self.update,
            "patch": self.patch,
            "delete": self.delete,
            "deletecollection": self.delete_collection,
        }

    async def get(self, exchange: Exchange) -> web.StreamResponse:
        """Return one object. Its stored bytes are the response if they have the requested form."""
        request, query = exchange.request, exchange.info.query
        version = query.get("resourceVersion", "")
        if version not in ("", "0") and query.get("resourceVersionMatch") == "Exact":
            entry = await listing.exactly(self._registry, request, version)
            return await self._object_response(request, entry, exchange.form)
        if version or not self._registry.store.is_recent:
            await versions.settle(self._registry.store, version, versions.known_version)
        if exchange.injection is not None and exchange.injection.stale_changes:
            entry = await listing.past(self._registry, request, exchange.injection.stale_changes)
        else:
            entry = self._registry.get(request)
        if request.resource.converter is not None:
            return await self._object_response(request, entry, exchange.form)
        return self._renderer.entry(request, entry, exchange.form)

    async def list(self, exchange: Exchange) -> web.StreamResponse:
        """Return a list of objects at one revision."""
        request = exchange.request
        options = read_list_options(exchange.query)
        if (
            exchange.injection is not None
            and exchange.injection.stale_changes
            and not options.token
        ):
            prefix = request.resource.key(request.namespace, "")
            version = self._registry.store.before(prefix, exchange.injection.stale_changes)
            options = options._replace(resource_version=str(version), match="Exact")
        page = await listing.find(self._registry, request, options)
        return await self._renderer.page(request, page, exchange.form)

    async def create(self, exchange: Exchange) -> web.StreamResponse:
        """Create an object (POST)."""
        resource, name = exchange.request.resource, exchange.request.name
        if name and name in resource.wording.validation_endpoints:
            raise status.not_found(resource.group, resource.plural, name)
        media = bodies.media_type(exchange.http)
        body = await bodies.read(exchange.http)
        request = exchange.with_options("CreateOptions")
        accepted = await exchange.accepted(request, body, media)
        return await self._write(exchange, request, changes.Create(request, accepted))

    async def update(self, exchange: Exchange) -> web.StreamResponse:
        """Replace an object (PUT)."""
        request = exchange.with_options("UpdateOptions")
        if not request.name:
            raise status.bad_request("name must be provided")
        body = await bodies.read(exchange.http)
        accepted = await exchange.accepted(request, body, bodies.media_type(exchange.http))
        return await self._write(exchange, request, changes.Put(request, accepted))

    async def patch(self, exchange: Exchange) -> web.StreamResponse:
        """Change an object with a patch of any type (PATCH)."""
        kind = bodies.patch_kind(exchange.http, exchange.request.resource.wording)
        if not exchange.request.name:
            raise status.bad_request("name must be provided")
        request = exchange.with_options("PatchOptions", apply=kind == "apply")
        body = await bodies.read(exchange.http)
        engine, earlier = exchange.engine, len(request.warnings)
        entry = await engine.repeated(request, kind, body)
        if entry is not None:
            return await self._object_response(request, entry, exchange.form)
        try:
            patch = await engine.run(len(body), bodies.decode_patch, kind, body)
        except status.StatusError:
            if kind != "apply":  # the reference reads the object before it decodes the patch
                self._registry.get(request)
            raise
        outcome = await self._registry.write(request, patches.of(request, kind, patch))
        engine.note(request, kind, body, outcome, tuple(request.warnings)[earlier:])
        return await self._respond(exchange, outcome)

    async def delete(self, exchange: Exchange) -> web.StreamResponse:
        """Delete one object. Returns the object while finalizers or a grace period keep it, else a
        Status."""
        request, options = await self._delete_options(exchange)
        outcome = await self._registry.write(request, changes.Delete(options))
        if outcome.deleted and not request.resource.definition.returns_deleted:
            uid, resource = outcome.entry.value["metadata"]["uid"], request.resource
            body = status.success(resource.group, resource.plural, request.name, uid)
            form = exchange.form.without_transform()
            return responses.render(body, form, warnings=request.warnings)
        # upstream's finalizers answer 202 to this deprecated option alone (handlers/delete.go)
        code = 202 if options.orphan is False and not outcome.deleted else 200
        return await self._object_response(request, outcome.entry, exchange.form, code=code)

    async def delete_collection(self, exchange: Exchange) -> web.StreamResponse:
        """Delete all objects that the selectors match, and return them as they were listed."""
        query = read_list_options(exchange.query)
        if query.resource_version not in ("", "0") and not query.match:
            # the reference reads pages, which are those of exactly this version
            query = query._replace(match="Exact")
        selections.matcher(exchange.request, query)  # selectors are checked before options
        request, options = await self._delete_options(exchange)
        page = await listing.find(self._registry, request, query, in_pages=True)
        change, all_of_them = (
            changes.Delete(options),
            request._replace(verb="delete", subresource="", in_collection=True),
        )
        for entry in page.entries:
            meta = entry.value["metadata"]
            one = all_of_them._replace(namespace=meta.get("namespace", ""), name=meta["name"])
            try:
                await self._registry.write(one, change)
            except status.StatusError as error:
                if error.reason != status.Reason.NOT_FOUND:
                    raise
        return await self._renderer.page(request, page, exchange.form)

    async def _delete_options(self, exchange: Exchange) -> tuple[Request, DeleteOptions]:
        """Return the request with the options of a delete. Raises StatusError 400 or 422."""
        request, definition = exchange.request, exchange.request.resource.definition
        body = await bodies.read_delete_options(exchange.http, exchange.engine)
        options, warnings = read_delete_options(exchange.query, body, lenient=exchange.lenient)
        undecided = options.propagation is None and options.orphan is None
        if undecided and definition.undecided_warning:
            warnings = [*warnings, definition.undecided_warning]
        for warning in warnings:
            request.warn(warning)
        timeout, written = read_timeout(exchange.query), WriteOptions(dry_run=options.dry_run)
        return request._replace(options=written, timeout=timeout), options

    async def _write(
        self, exchange: Exchange, request: Request, change: Change
    ) -> web.StreamResponse:
        return await self._respond(exchange, await self._registry.write(request, change))

    def _respond(self, exchange: Exchange, outcome: Outcome) -> Awaitable[web.StreamResponse]:
        code = 201 if outcome.created else 200
        return self._object_response(exchange.request, outcome.entry, exchange.form, code=code)

    async def _object_response(
        self, request: Request, entry: Entry, form: Form, *, code: int = 200
    ) -> BodyResponse:
        if request.resource.converter is not None:
            [entry] = await self._registry.shown(request, [entry])
        return self._renderer.entry(request, entry, form, code=code)
