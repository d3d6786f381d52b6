"""One short coroutine per verb: decode, call the registry, answer.

Everything HTTP about a verb stands here and nothing else; a handler gets an `Exchange` (request,
call, form of the answer) and returns a response.
"""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from aiohttp import web

from inkube.apiserver.handlers.rendering import Renderer
from inkube.apiserver.http import bodies, responses
from inkube.apiserver.http.negotiation import Form
from inkube.apiserver.http.options import (
    Query,
    manager_name,
    read_delete_options,
    read_timeout,
    read_write_options,
)
from inkube.apiserver.registry import changes, intake, listing
from inkube.apiserver.registry.calls import Call, WriteOptions
from inkube.apiserver.registry.registry import Outcome, Registry
from inkube.schemas import status
from inkube.schemas.definitions import Origin

Object = dict[str, Any]


class Exchange(NamedTuple):
    """One request on its way: what came in, the call it became, the form of the answer."""

    request: web.BaseRequest
    call: Call
    form: Form

    @property
    def query(self) -> Query:
        """The query parameters."""
        return self.request.rel_url.query

    @property
    def lenient(self) -> bool:
        """Kinds declared in Python read `dryRun=true` as All."""
        return self.call.resource.definition.origin is Origin.PYTHON


Handler = Callable[[Exchange], Awaitable[web.StreamResponse]]


class Handlers:
    """The verbs over one registry."""

    def __init__(self, registry: Registry, renderer: Renderer) -> None:
        self._registry = registry
        self._renderer = renderer
        self.by_verb: dict[str, Handler] = {
            "get": self.get,
            "list": self.list,
            "create": self.create,
            "update": self.update,
            "patch": self.patch,
            "delete": self.delete,
            "deletecollection": self.delete_collection,
        }

    async def get(self, exchange: Exchange) -> web.StreamResponse:
        """One object; its stored bytes where they fit the form asked for."""
        await listing.settle_read(exchange.query, self._registry.store)
        entry = self._registry.get(exchange.call)
        await self._registry.ready(exchange.call, entry)
        return self._renderer.entry(exchange.call, entry, exchange.form)

    async def list(self, exchange: Exchange) -> web.StreamResponse:
        """Many objects at one revision."""
        call = exchange.call
        options = listing.read_options(exchange.query, call)
        page = await listing.find(self._registry, call, options)
        return self._renderer.page(call, page, exchange.form)

    async def create(self, exchange: Exchange) -> web.StreamResponse:
        """POST."""
        call = exchange.call
        self._options(exchange, "CreateOptions")
        body = await bodies.read(exchange.request)
        obj = intake.read(call, body, bodies.media_type(exchange.request))
        intake.check_namespace(call, obj)
        if call.name:
            obj["metadata"]["name"] = call.name
        return await self._answer(exchange, await self._registry.create(call, obj))

    async def update(self, exchange: Exchange) -> web.StreamResponse:
        """PUT."""
        call = exchange.call
        self._options(exchange, "UpdateOptions")
        if not call.name:
            raise status.bad_request("name must be provided")
        body = await bodies.read(exchange.request)
        obj = intake.read(call, body, bodies.media_type(exchange.request))
        intake.check_namespace(call, obj)
        intake.check_name(call, obj)
        return await self._answer(
            exchange, await self._registry.update(call, changes.put(call, obj))
        )

    async def patch(self, exchange: Exchange) -> web.StreamResponse:
        """PATCH, every type."""
        call = exchange.call
        kind = bodies.patch_kind(exchange.request, builtin=call.resource.builtin)
        if not call.name:
            raise status.bad_request("name must be provided")
        self._options(exchange, "PatchOptions", apply=kind == "apply")
        body = await bodies.read(exchange.request)
        outcome = await self._registry.update(
            call, changes.read_patch(call, kind, body, self._registry.identity)
        )
        return await self._answer(exchange, outcome)

    async def delete(self, exchange: Exchange) -> web.StreamResponse:
        """DELETE of one object: the object while something holds it, else a Status."""
        call = exchange.call
        options = await self._delete_options(exchange)
        outcome = await self._registry.delete(call, options)
        if outcome.deleted and not call.resource.strategy.returns_deleted:
            meta = outcome.entry.value["metadata"]
            body = status.success(call.resource.group, call.resource.plural, call.name, meta["uid"])
            return responses.render(body, exchange.form.without_transform(), warnings=call.warnings)
        await self._registry.ready(call, outcome.entry)
        return self._renderer.entry(call, outcome.entry, exchange.form.without_transform())

    async def delete_collection(self, exchange: Exchange) -> web.StreamResponse:
        """DELETE of all that the selectors match; answers them as they were listed."""
        call = exchange.call
        query = listing.read_options(exchange.query, call)
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
        await self._registry.ready(call, *page.entries)
        return self._renderer.page(call, page, exchange.form.without_transform())

    async def _delete_options(self, exchange: Exchange) -> Any:
        body = await bodies.read_delete_options(exchange.request, exchange.call)
        options, warnings = read_delete_options(exchange.query, body, lenient=exchange.lenient)
        exchange.call.timeout = read_timeout(exchange.query)
        exchange.call.options = WriteOptions(dry_run=options.dry_run)
        undecided = options.propagation is None and options.orphan is None
        if undecided and exchange.call.resource.strategy.undecided_warning:
            warnings = [*warnings, exchange.call.resource.strategy.undecided_warning]
        for warning in warnings:
            exchange.call.warn(warning)
        return options

    def _options(self, exchange: Exchange, kind: str, *, apply: bool = False) -> None:
        call = exchange.call
        call.options, warnings = read_write_options(
            exchange.query, kind, lenient=exchange.lenient, apply=apply
        )
        call.timeout = read_timeout(exchange.query)
        call.manager = manager_name(call.options, exchange.request.headers.get("User-Agent", ""))
        call.warnings.extend(warnings)

    async def _answer(self, exchange: Exchange, outcome: Outcome) -> web.StreamResponse:
        await self._registry.ready(exchange.call, outcome.entry)
        code = 201 if outcome.created else 200
        return self._renderer.entry(exchange.call, outcome.entry, exchange.form, code=code)
