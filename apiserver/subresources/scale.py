"""The scale subresource: an autoscaling/v1 Scale seen through an object's paths.

A write is a change of the object: the Scale is made, changed, checked and its replicas, its
precondition and its ownership are carried back. Follows
apiextensions-apiserver/pkg/registry/customresource/etcd.go (ScaleREST).
"""

from collections.abc import Callable
from typing import Any

import orjson
from aiohttp import web

from inkube.apiserver.handlers import tables
from inkube.apiserver.handlers.verbs import Exchange
from inkube.apiserver.http import bodies, responses
from inkube.apiserver.registry import changes, intake, listing, ownership, scales
from inkube.apiserver.registry.calls import Call
from inkube.apiserver.registry.registry import Registry, Update
from inkube.apiserver.registry.scales import SCALE
from inkube.apiserver.registry.stamps import Stamps
from inkube.schemas import bodies as decoding
from inkube.schemas import caches, status
from inkube.schemas.builtin import decoding as builtin_decoding
from inkube.schemas.golang import gotext
from inkube.schemas.gotypes import table
from inkube.schemas.ownership import apply as apply_rules
from inkube.schemas.ownership import managedfields, scalefields
from inkube.schemas.ownership.typed import TypedSchema
from inkube.storage.entry import Entry

Object = dict[str, Any]
_UNREGISTERED = (
    "no kind is registered for the type v1.Scale in scheme "
    '"k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go:781"'
)


@caches.of_values(1)
def _typed() -> TypedSchema:
    """How fields of a Scale are owned."""
    return TypedSchema(table.schema(SCALE), custom=False)


class ScaleHandler:
    """GET, PUT and PATCH of /scale."""

    def __init__(self, registry: Registry, stamps: Stamps) -> None:
        self._registry = registry
        self._stamps = stamps

    async def __call__(self, exchange: Exchange) -> web.StreamResponse:
        """Answer one request. Raises StatusError 404 where the kind has no scale."""
        call = exchange.call
        if call.served.version.scale is None:
            raise call.resource.voice.no_subresource(call.served.gvr, call.name)
        if call.verb == "get":
            version = exchange.query.get("resourceVersion", "")
            await listing.settle(self._registry.store, version, listing.known_version)
            entry = self._registry.get(call)
            return await self._shown(exchange, entry)
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
            raise status.bad_request(_UNREGISTERED)
        self._admit(call, scale)
        intake.check_namespace(call, scale)
        intake.check_name(call, scale)
        change = self._change(call, lambda old: _decoded(scale))
        outcome = await self._registry.update(call, change)
        return await self._shown(exchange, outcome.entry)

    def _admit(self, call: Call, scale: Object) -> None:
        """Decode once for what is wrong with it. Raises StatusError 400."""
        try:
            found = builtin_decoding.decode(scale, SCALE)
        except builtin_decoding.DecodeError as error:
            # of custom resources the reference has no word for the type that it failed to read
            if call.resource.voice.scale_needs_replicas:
                raise status.bad_request(_UNREGISTERED) from error
            raise builtin_decoding.refusal(SCALE, error) from error
        _tell_unknown(call, found.unknown)

    async def _patch(self, exchange: Exchange) -> web.StreamResponse:
        call = exchange.call
        kind = bodies.patch_kind(exchange.request, call.resource.voice)
        exchange.read_options("PatchOptions", apply=kind == "apply")
        body = await bodies.read(exchange.request)
        document = (await exchange.worker.run(len(body), bodies.decode_patch, kind, body)).value
        if kind == "apply":
            change = self._change(call, lambda old: self._applied(call, old, document), own=False)
        else:
            change = self._change(call, lambda old: _patched(call, kind, old, document))
        outcome = await self._registry.update(call, change)
        return await self._shown(exchange, outcome.entry)

    def _change(self, call: Call, make: Callable[[Object], Object], *, own: bool = True) -> Update:
        """An update of the object's replicas by what `make` makes of the object.

        `own` says whether ownership still has to be tracked on the Scale.
        """

        def transform(old: Object | None) -> Object:
            assert old is not None, "a scale never creates"
            scale = make(old)
            _check(call, scale)
            if own:
                self._track(call, old, scale)
            return _carried_back(call, old, scale)

        return Update(transform, retry=True, tracks=False)

    def _track(self, call: Call, old: Object, scale: Object) -> None:
        writer = ownership.writer(call, self._stamps.timestamp(), api_version=SCALE.api_version)
        before = scales.to_scale(call, old, lenient=True, owned=True)
        scale.setdefault("metadata", {}).pop("managedFields", None)
        managedfields.track_update(before, scale, typed=_typed(), writer=writer)

    def _applied(self, call: Call, old: Object, body: Object) -> Object:
        writer = ownership.writer(call, self._stamps.timestamp(), api_version=SCALE.api_version)
        before = scales.to_scale(call, old, lenient=True, owned=True)
        force = call.options.force
        return apply_rules.apply(before, body, typed=_typed(), writer=writer, force=force)

    async def _shown(self, exchange: Exchange, entry: Entry) -> web.StreamResponse:
        [shown] = await self._registry.shown(exchange.call, [entry])
        return self._answer(exchange, exchange.call.view(shown))

    def _answer(self, exchange: Exchange, obj: Object) -> web.StreamResponse:
        call = exchange.call
        form = exchange.form
        scale = scales.to_scale(call, obj, owned=True)
        if form.kind:
            now = self._stamps.now()
            scale = tables.transform(call, [scale], form, now, include=form.include)
        return responses.render(scale, form, warnings=call.warnings)


def _patched(call: Call, kind: str, old: Object, document: Any) -> Object:
    new, _ = changes.patched(call, kind, scales.to_scale(call, old, owned=True), document)
    try:
        decoded = builtin_decoding.decode(new, SCALE)
    except builtin_decoding.DecodeError as error:
        raise builtin_decoding.patch_refusal(gotext.compact_json(new), error) from error
    if call.options.validation == "Strict" and decoded.unknown:
        text = decoding.strict_text(decoded.unknown)
        raise builtin_decoding.patch_refusal(gotext.compact_json(new), text)
    _tell_unknown(call, decoded.unknown)
    return decoded.object


def _tell_unknown(call: Call, unknown: list[str]) -> None:
    """Warn of fields that a Scale does not have, or refuse them. Raises StatusError 400."""
    if call.options.validation == "Ignore":
        return
    if call.options.validation == "Strict" and unknown:
        raise builtin_decoding.refusal(SCALE, decoding.strict_text(unknown))
    for text in unknown:
        call.warn(text)


def _decoded(scale: Object) -> Object:
    try:
        return builtin_decoding.decode(scale, SCALE).object
    except builtin_decoding.DecodeError as error:
        raise builtin_decoding.refusal(SCALE, error) from error


def _check(call: Call, scale: Object) -> None:
    """No negative replicas. Raises StatusError 422."""
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    if replicas >= 0:
        return
    raise call.resource.voice.negative_replicas(call.served, call.name, replicas)


def _carried_back(call: Call, old: Object, scale: Object) -> Object:
    """The object with the Scale's replicas, precondition and owners."""
    obj: Object = orjson.loads(orjson.dumps(old))
    scales.set_replicas(call, obj, (scale.get("spec") or {}).get("replicas", 0))
    meta = scale.get("metadata") or {}
    for member in ("resourceVersion", "uid"):
        if meta.get(member):
            obj["metadata"][member] = meta[member]
    if not meta.get("resourceVersion"):
        obj["metadata"].pop("resourceVersion", None)
    obj["metadata"]["managedFields"] = scalefields.of_parent(
        old["metadata"].get("managedFields"),
        meta.get("managedFields"),
        paths=scales.paths_of_versions(call.resource),
        version=call.served.api_version,
    )
    return obj
