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
    scales,
    scaling,
    versions,
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
        request = exchange.request
        if request.served.version.scale is None:
            raise request.resource.wording.no_subresource(request.served.gvr, request.name)
        if request.verb == "get":
            version = exchange.query.get("resourceVersion", "")
            await versions.settle(self._registry.store, version, versions.known_version)
            entry = self._registry.get(request)
            return await self._scale_response(exchange, entry)
        if request.verb == "update":
            return await self._put(exchange)
        if request.verb == "patch":
            return await self._patch(exchange)
        raise request.resource.wording.method_not_allowed(request.served.gvr, request.verb)

    async def _put(self, exchange: Exchange) -> web.StreamResponse:
        request = exchange.with_options("UpdateOptions")
        body = await bodies.read(exchange.http)
        media = bodies.media_type(exchange.http)
        try:
            scale = await exchange.engine.run(
                len(body), bodies.decode_kind, body, media, SCALE.kind
            )
        except status.StatusError as error:
            if request.resource.wording.has_messages:
                raise
            raise status.bad_request(scaling.UNREGISTERED) from error
        if (scale.get("apiVersion") or SCALE.api_version, scale.get("kind") or SCALE.kind) != (
            SCALE.api_version,
            SCALE.kind,
        ):
            raise status.bad_request(scaling.UNREGISTERED)
        change = scaling.PutScale(request, scale)
        intake.check_namespace(request, scale)
        intake.check_name(request, scale)
        outcome = await self._registry.write(request, change)
        return await self._scale_response(exchange, outcome.entry)

    async def _patch(self, exchange: Exchange) -> web.StreamResponse:
        kind = bodies.patch_kind(exchange.http, exchange.request.resource.wording)
        request = exchange.with_options("PatchOptions", apply=kind == "apply")
        body = await bodies.read(exchange.http)
        try:
            patch = await exchange.engine.run(len(body), bodies.decode_patch, kind, body)
        except status.StatusError:
            if kind != "apply":  # the reference reads the object before it decodes the patch
                self._registry.get(request)
            raise
        outcome = await self._registry.write(request, scaling.of(kind, patch))
        return await self._scale_response(exchange, outcome.entry)

    async def _scale_response(self, exchange: Exchange, entry: Entry) -> web.StreamResponse:
        [shown] = await self._registry.shown(exchange.request, [entry])
        return self._respond(exchange, exchange.request.view(shown))

    def _respond(self, exchange: Exchange, obj: Object) -> web.StreamResponse:
        request = exchange.request
        form = exchange.form
        scale = scales.to_scale(request, obj)
        if form.kind:
            scale = tables.transform(request, [scale], form, self._system_fields.now())
        return responses.render(scale, form, warnings=request.warnings)
