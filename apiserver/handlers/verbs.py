"""One short coroutine for each verb: decode the request, call the registry, respond.

This module contains the parts of a verb that depend on HTTP. A handler takes an `Exchange`
(request, call, form of the response) and returns a response.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from aiohttp import hdrs, web
from multidict import MultiDictProxy

from inkube.apiserver.faults import Injection
from inkube.apiserver.handlers.rendering import Renderer
from inkube.apiserver.http import (
    BodyResponse,
    Form,
    RequestInfo,
    bodies,
    manager_name,
    read_delete_options,
    read_list_options,
    read_timeout,
    read_write_options,
    responses,
)
from inkube.apiserver.registry import (
    Call,
    Outcome,
    Registry,
    Worker,
    WriteOptions,
    changes,
    intake,
    listing,
)
from inkube.schemas import status
from inkube.schemas.objects import Object
from inkube.storage import Entry


class Exchange(NamedTuple):
    """A request that is being processed, with its call and the form of the response."""

    request: web.BaseRequest
    info: RequestInfo
    call: Call
    form: Form
    worker: Worker
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
        return self.call.resource.wording.reads_dry_run_true

    def read_options(self, kind: str, *, apply: bool = False) -> None:
        """Set the options of a create, update or patch in the call. Raises StatusError 422."""
        call, query = self.call, self.info.query
        warnings: Sequence[str] = ()
        if query or apply:
            call.options, warnings = read_write_options(
                query, kind, lenient=self.lenient, apply=apply
            )
            call.timeout = read_timeout(query)
        call.manager = manager_name(call.options, self.request.headers.get(hdrs.USER_AGENT, ""))
        for warning in warnings:
            call.warn(warning)


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
        version = exchange.query.get("resourceVersion", "")
        if version not in ("", "0") and exchange.query.get("resourceVersionMatch") == "Exact":
            entry = await listing.exactly(self._registry, exchange.call, version)
            return await self._object_response(exchange.call, entry, exchange.form)
        await listing.settle(self._registry.store, version, listing.known_version)
        if exchange.injection is not None and exchange.injection.stale_changes:
            entry = await listing.past(
                self._registry, exchange.call, exchange.injection.stale_changes
            )
        else:
            entry = self._registry.get(exchange.call)
        return await self._object_response(exchange.call, entry, exchange.form)

    async def list(self, exchange: Exchange) -> web.StreamResponse:
        """Return a list of objects at one revision."""
        call = exchange.call
        options = read_list_options(exchange.query)
        if (
            exchange.injection is not None
            and exchange.injection.stale_changes
            and not options.token
        ):
            prefix = call.resource.key(call.namespace, "")
            version = self._registry.store.before(prefix, exchange.injection.stale_changes)
            options = options._replace(resource_version=str(version), match="Exact")
        page = await listing.find(self._registry, call, options)
        return await self._renderer.page(call, page, exchange.form)

    async def create(self, exchange: Exchange) -> web.StreamResponse:
        """Create an object (POST)."""
        call = exchange.call
        if call.name and call.name in call.resource.wording.validation_endpoints:
            raise status.not_found(call.resource.group, call.resource.plural, call.name)
        media = bodies.media_type(exchange.request)
        body = await bodies.read(exchange.request)
        exchange.read_options("CreateOptions")
        obj = await self._decode_body(exchange, body, media)
        intake.check_namespace(call, obj)
        if call.name:
            if call.resource.wording.names_match and obj["metadata"].get("name"):
                intake.check_name(call, obj)
            obj["metadata"]["name"] = call.name
        return await self._respond(exchange, await self._registry.create(call, obj))

    async def update(self, exchange: Exchange) -> web.StreamResponse:
        """Replace an object (PUT)."""
        call = exchange.call
        exchange.read_options("UpdateOptions")
        if not call.name:
            raise status.bad_request("name must be provided")
        obj = await self._object(exchange)
        intake.check_namespace(call, obj)
        intake.check_name(call, obj)
        return await self._respond(
            exchange, await self._registry.update(call, changes.put(call, obj))
        )

    async def patch(self, exchange: Exchange) -> web.StreamResponse:
        """Change an object with a patch of any type (PATCH)."""
        call = exchange.call
        kind = bodies.patch_kind(exchange.request, call.resource.wording)
        if not call.name:
            raise status.bad_request("name must be provided")
        exchange.read_options("PatchOptions", apply=kind == "apply")
        body = await bodies.read(exchange.request)
        repeats = self._registry.repeats
        entry = await repeats.find(call, kind, body)
        if entry is not None:
            return await self._object_response(call, entry, exchange.form)
        earlier = len(call.warnings)
        strict = call.options.validation == "Strict"
        call.weight = len(body)
        document = await exchange.worker.run(
            call.weight, partial(bodies.decode_patch, kind, body, strict=strict)
        )
        change = changes.from_patch(call, kind, document, self._registry.system_fields)
        outcome = await self._registry.update(call, change)
        repeats.note(call, kind, body, outcome, tuple(call.warnings)[earlier:])
        return await self._respond(exchange, outcome)

    async def delete(self, exchange: Exchange) -> web.StreamResponse:
        """Delete one object. Returns the object while finalizers or a grace period keep it, else a
        Status."""
        call = exchange.call
        options = await self._delete_options(exchange)
        outcome = await self._registry.delete(call, options)
        if outcome.deleted and not call.resource.definition.returns_deleted:
            meta = outcome.entry.value["metadata"]
            body = status.success(call.resource.group, call.resource.plural, call.name, meta["uid"])
            return responses.render(body, exchange.form.without_transform(), warnings=call.warnings)
        form = exchange.form  # the response for a remaining object can be its metadata
        if form.kind != "PartialObjectMetadata":
            form = form.without_transform()
        return await self._object_response(call, outcome.entry, form)

    async def delete_collection(self, exchange: Exchange) -> web.StreamResponse:
        """Delete all objects that the selectors match, and return them as they were listed."""
        call = exchange.call
        query = read_list_options(exchange.query)
        listing.matcher(call, query)  # selectors are checked before options
        options = await self._delete_options(exchange)
        page = await listing.find(self._registry, call, query)
        for entry in page.entries:
            meta = entry.value["metadata"]
            one = Call(
                "delete",
                call.resource,
                call.served,
                meta.get("namespace", ""),
                meta["name"],
                user=call.user,
                options=call.options,
                warnings=call.warnings,
                in_collection=True,
                timeout=call.timeout,
            )
            try:
                await self._registry.delete(one, options)
            except status.StatusError as error:
                if error.reason != status.Reason.NOT_FOUND:
                    raise
        return await self._renderer.page(call, page, exchange.form.without_transform())

    async def _object(self, exchange: Exchange) -> Object:
        """Return the object in a body."""
        body = await bodies.read(exchange.request)
        return await self._decode_body(exchange, body, bodies.media_type(exchange.request))

    async def _decode_body(self, exchange: Exchange, body: bytes, media: str) -> Object:
        call = exchange.call
        call.weight = len(body)
        return await exchange.worker.compute(call, bodies.read_object, call, body, media)

    async def _delete_options(self, exchange: Exchange) -> Any:
        body = await bodies.read_delete_options(exchange.request, exchange.worker)
        options, warnings = read_delete_options(exchange.query, body, lenient=exchange.lenient)
        exchange.call.timeout = read_timeout(exchange.query)
        exchange.call.options = WriteOptions(dry_run=options.dry_run)
        undecided = options.propagation is None and options.orphan is None
        if undecided and exchange.call.resource.definition.undecided_warning:
            warnings = [*warnings, exchange.call.resource.definition.undecided_warning]
        for warning in warnings:
            exchange.call.warn(warning)
        return options

    def _respond(self, exchange: Exchange, outcome: Outcome) -> Awaitable[web.StreamResponse]:
        code = 201 if outcome.created else 200
        return self._object_response(exchange.call, outcome.entry, exchange.form, code=code)

    async def _object_response(
        self, call: Call, entry: Entry, form: Form, *, code: int = 200
    ) -> BodyResponse:
        if call.resource.converter is not None:
            [entry] = await self._registry.shown(call, [entry])
        return self._renderer.entry(call, entry, form, code=code)
