"""The scale subresource over HTTP: an autoscaling/v1 Scale that is mapped to paths of the
object."""

from aiohttp import web

from inkube.apiserver.handlers import Exchange, tables
from inkube.apiserver.http import bodies, responses
from inkube.apiserver.registry import (
    SCALE,
    Registry,
    SystemFields,
    intake,
    listing,
    scales,
    scaling,
)
from inkube.schemas import status
from inkube.schemas.objects import Object
from inkube.storage import Entry


class ScaleHandler:
    """Serves GET, PUT and PATCH of /scale."""

    def __init__(self, registry: Registry, system_fields: SystemFields) -> None:
        self._registry = registry
        self._system_fields = system_fields

    async def __call__(self, exchange: Exchange) -> web.StreamResponse:
        """Respond to one request. Raises StatusError 404 if the kind has no scale."""
        call = exchange.call
        if call.served.version.scale is None:
            raise call.resource.wording.no_subresource(call.served.gvr, call.name)
        if call.verb == "get":
            version = exchange.query.get("resourceVersion", "")
            await listing.settle(self._registry.store, version, listing.known_version)
            entry = self._registry.get(call)
            return await self._scale_response(exchange, entry)
        if call.verb == "update":
            return await self._put(exchange)
        if call.verb == "patch":
            return await self._patch(exchange)
        raise status.method_not_allowed_on(call.resource.group, call.resource.plural, call.verb)

    async def _put(self, exchange: Exchange) -> web.StreamResponse:
        call = exchange.call
        exchange.read_options("UpdateOptions")
        body = await bodies.read(exchange.request)
        media = bodies.media_type(exchange.request)
        scale = await exchange.worker.run(len(body), bodies.decode_kind, body, media, "Scale")
        if (scale.get("apiVersion"), scale.get("kind")) not in (
            (SCALE.api_version, SCALE.kind),
            (None, None),
        ):
            raise status.bad_request(scaling.UNREGISTERED)
        change = scaling.put(call, scale, self._system_fields)
        intake.check_namespace(call, scale)
        intake.check_name(call, scale)
        outcome = await self._registry.update(call, change)
        return await self._scale_response(exchange, outcome.entry)

    async def _patch(self, exchange: Exchange) -> web.StreamResponse:
        call = exchange.call
        kind = bodies.patch_kind(exchange.request, call.resource.wording)
        exchange.read_options("PatchOptions", apply=kind == "apply")
        body = await bodies.read(exchange.request)
        document = (await exchange.worker.run(len(body), bodies.decode_patch, kind, body)).value
        change = scaling.patch(call, kind, document, self._system_fields)
        outcome = await self._registry.update(call, change)
        return await self._scale_response(exchange, outcome.entry)

    async def _scale_response(self, exchange: Exchange, entry: Entry) -> web.StreamResponse:
        [shown] = await self._registry.shown(exchange.call, [entry])
        return self._respond(exchange, exchange.call.view(shown))

    def _respond(self, exchange: Exchange, obj: Object) -> web.StreamResponse:
        call = exchange.call
        form = exchange.form
        scale = scales.to_scale(call, obj, with_ownership=True)
        if form.kind:
            now = self._system_fields.now()
            scale = tables.transform(call, [scale], form, now, include=form.include)
        return responses.render(scale, form, warnings=call.warnings)
