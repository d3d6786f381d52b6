"""The scale subresource: an autoscaling/v1 Scale seen through a custom resource's paths.

Follows apiextensions-apiserver/pkg/registry/customresource/etcd.go (ScaleREST).
"""

from typing import Any

from aiohttp import web

from inkube.apiserver import bodies, changes, intake, responses
from inkube.apiserver.calls import Call
from inkube.apiserver.handlers import Exchange
from inkube.apiserver.identity import Identity
from inkube.apiserver.options import manager_name, read_write_options
from inkube.apiserver.registry import Change, Outcome, Registry
from inkube.schemas import fielderrors, status
from inkube.schemas.definitions import Scale

Object = dict[str, Any]
MAX_REPLICAS = 2**31 - 1


class ScaleHandler:
    """GET, PUT and PATCH of /scale."""

    def __init__(self, registry: Registry, identity: Identity) -> None:
        self._registry = registry
        self._identity = identity

    async def __call__(self, exchange: Exchange) -> web.StreamResponse:
        """Answer one request. Raises StatusError 404 where the kind has no scale."""
        call = exchange.call
        if call.served.version.scale is None:
            if call.resource.builtin:
                raise status.resource_not_found()
            raise status.not_found(call.resource.group, call.resource.plural, call.name)
        if call.verb == "get":
            return self._answer(exchange, self._registry.view(call, self._registry.get(call)))
        if call.verb == "update":
            return await self._put(exchange)
        if call.verb == "patch":
            return await self._patch(exchange)
        from inkube.apiserver.app import method_not_allowed

        raise method_not_allowed(call)

    async def _put(self, exchange: Exchange) -> web.StreamResponse:
        call = exchange.call
        self._options(exchange, "UpdateOptions")
        body = await bodies.read(exchange.request)
        decoded = bodies.decode_kind(body, bodies.media_type(exchange.request), "Scale")
        intake.check_namespace(call, decoded)
        intake.check_name(call, decoded)
        outcome = await self._registry.update(call, self._change(call, lambda scale: decoded))
        return self._result(exchange, outcome)

    async def _patch(self, exchange: Exchange) -> web.StreamResponse:
        call = exchange.call
        kind = bodies.patch_kind(exchange.request, builtin=call.resource.builtin)
        self._options(exchange, "PatchOptions", apply=kind == "apply")
        document = bodies.decode_patch(kind, await bodies.read(exchange.request))
        patched = lambda scale: changes.patched(call, kind, scale, document)  # noqa: E731
        outcome = await self._registry.update(call, self._change(call, patched))
        return self._result(exchange, outcome)

    def _change(self, call: Call, make: Any) -> Change:
        """An update of the object's replicas by a new Scale."""

        def transform(old: Object | None) -> Object:
            assert old is not None, "a scale never creates"  # noqa: PT018
            scale = make(to_scale(call, old))
            _check(call, scale)
            _write(call, old, scale)
            return old

        return Change(transform, retry=True)

    def _options(self, exchange: Exchange, kind: str, *, apply: bool = False) -> None:
        call = exchange.call
        call.options, _ = read_write_options(exchange.query, kind, apply=apply)
        call.manager = manager_name(call.options, exchange.request.headers.get("User-Agent", ""))

    def _result(self, exchange: Exchange, outcome: Outcome) -> web.StreamResponse:
        return self._answer(exchange, self._registry.view(exchange.call, outcome.entry))

    def _answer(self, exchange: Exchange, obj: Object) -> web.StreamResponse:
        call = exchange.call
        return responses.render(to_scale(call, obj), exchange.form, warnings=call.warnings)


def to_scale(call: Call, obj: Object) -> Object:
    """The Scale of an object. Raises StatusError 500 when it has no replicas."""
    paths = _paths(call)
    replicas = _read(obj, paths.spec_replicas)
    if replicas is None and not call.resource.builtin:
        raise status.internal(
            f'Internal error occurred: the spec replicas field "{paths.spec_replicas}" does not exist'
        )
    meta = obj["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    scale: Object = {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: meta[key] for key in kept if key in meta},
        "spec": {"replicas": replicas} if replicas else {},
        "status": {"replicas": _read(obj, paths.status_replicas) or 0},
    }
    selector = _read(obj, paths.label_selector) if paths.label_selector else None
    if selector:
        scale["status"]["selector"] = selector
    return scale


def _paths(call: Call) -> Scale:
    paths = call.served.version.scale
    assert paths is not None, "checked by the handler"  # noqa: PT018
    return paths


def _check(call: Call, scale: Object) -> None:
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    meta = scale.get("metadata") or {}
    if not isinstance(replicas, int) or isinstance(replicas, bool):
        raise status.bad_request(
            'Scale in version "v1" cannot be handled as a Scale: json: cannot unmarshal '
            f"{type(replicas).__name__} into Go struct field ScaleSpec.spec.replicas of type int32"
        )
    if replicas < 0:
        error = fielderrors.invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        raise status.invalid("autoscaling", "Scale", meta.get("name", ""), [error])


def _write(call: Call, obj: Object, scale: Object) -> None:
    """Put the Scale's replicas, and its precondition, into the object."""
    path = _paths(call).spec_replicas.lstrip(".").split(".")
    target = obj
    for part in path[:-1]:
        target = target.setdefault(part, {})
    target[path[-1]] = (scale.get("spec") or {}).get("replicas", 0)
    meta = scale.get("metadata") or {}
    for member in ("resourceVersion", "uid"):
        if meta.get(member):
            obj["metadata"][member] = meta[member]


def _read(obj: Object, path: str) -> Any:
    value: Any = obj
    for part in path.lstrip(".").split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value
