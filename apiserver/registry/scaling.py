"""Changes of an object through its Scale: for `/scale` and for the in-process client.

The Scale is made, changed and checked; its replicas, its precondition and its ownership are
carried back. Follows apiextensions-apiserver/pkg/registry/customresource/etcd.go (ScaleREST).
"""

from collections.abc import Callable
from typing import Any

import orjson

from inkube.apiserver.registry import changes, ownership, scales
from inkube.apiserver.registry.calls import Call
from inkube.apiserver.registry.scales import SCALE
from inkube.apiserver.registry.stamps import Stamps
from inkube.apiserver.registry.update import Update
from inkube.schemas import bodies, caches, status
from inkube.schemas.builtin import decoding as builtin_decoding
from inkube.schemas.golang import gotext
from inkube.schemas.gotypes import table
from inkube.schemas.objects import Object
from inkube.schemas.ownership import TypedSchema, managedfields, scalefields
from inkube.schemas.ownership import apply as apply_rules

UNREGISTERED = (
    "no kind is registered for the type v1.Scale in scheme "
    '"k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go:781"'
)


@caches.of_values(1)
def _typed() -> TypedSchema:
    """How fields of a Scale are owned."""
    return TypedSchema(table.schema(SCALE), custom=False)


def put(call: Call, scale: Object, stamps: Stamps) -> Update:
    """Replace the Scale. Raises StatusError 400 where it is none."""
    try:
        found = builtin_decoding.decode(scale, SCALE)
    except builtin_decoding.DecodeError as error:
        # of custom resources the reference has no word for the type that it failed to read
        if call.resource.wording.scale_needs_replicas:
            raise status.bad_request(UNREGISTERED) from error
        raise builtin_decoding.refusal(SCALE, error) from error
    _tell_unknown(call, found.unknown)
    return _change(call, lambda old: decoded(scale), stamps)


def patch(call: Call, kind: str, document: Any, stamps: Stamps) -> Update:
    """A `json`, `merge`, `strategic` or `apply` patch of the Scale."""
    if kind == "apply":
        # ownership is applied with the fields, not tracked afterwards
        return _change(call, lambda old: _applied(call, old, document, stamps), None)
    return _change(call, lambda old: _patched(call, kind, old, document), stamps)


def _change(call: Call, make: Callable[[Object], Object], stamps: Stamps | None) -> Update:
    """An update of the object's replicas by the Scale that `make` makes of the object.

    With `stamps`, who changed the Scale is tracked.
    """

    def transform(old: Object | None) -> Object:
        assert old is not None, "a scale never creates"
        scale = make(old)
        _check(call, scale)
        if stamps is not None:
            _track(call, old, scale, stamps)
        return _carried_back(call, old, scale)

    return Update(transform, retry=True, tracks=False)


def _track(call: Call, old: Object, scale: Object, stamps: Stamps) -> None:
    writer = ownership.writer(call, stamps.timestamp(), api_version=SCALE.api_version)
    before = scales.to_scale(call, old, lenient=True, owned=True)
    scale.setdefault("metadata", {}).pop("managedFields", None)
    managedfields.track_update(before, scale, typed=_typed(), writer=writer)


def _applied(call: Call, old: Object, body: Object, stamps: Stamps) -> Object:
    writer = ownership.writer(call, stamps.timestamp(), api_version=SCALE.api_version)
    before = scales.to_scale(call, old, lenient=True, owned=True)
    force = call.options.force
    return apply_rules.apply(before, body, typed=_typed(), writer=writer, force=force)


def _patched(call: Call, kind: str, old: Object, document: Any) -> Object:
    new, _ = changes.patched(call, kind, scales.to_scale(call, old, owned=True), document)
    try:
        found = builtin_decoding.decode(new, SCALE)
    except builtin_decoding.DecodeError as error:
        raise builtin_decoding.patch_refusal(gotext.compact_json(new), error) from error
    if call.options.validation == "Strict" and found.unknown:
        text = bodies.strict_text(found.unknown)
        raise builtin_decoding.patch_refusal(gotext.compact_json(new), text)
    _tell_unknown(call, found.unknown)
    return found.object


def _tell_unknown(call: Call, unknown: list[str]) -> None:
    """Warn of fields that a Scale does not have, or refuse them. Raises StatusError 400."""
    if call.options.validation == "Ignore":
        return
    if call.options.validation == "Strict" and unknown:
        raise builtin_decoding.refusal(SCALE, bodies.strict_text(unknown))
    for text in unknown:
        call.warn(text)


def decoded(scale: Object) -> Object:
    """The Scale as its Go type reads it. Raises StatusError 400."""
    try:
        return builtin_decoding.decode(scale, SCALE).object
    except builtin_decoding.DecodeError as error:
        raise builtin_decoding.refusal(SCALE, error) from error


def _check(call: Call, scale: Object) -> None:
    """No negative replicas. Raises StatusError 422."""
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    if replicas >= 0:
        return
    raise call.resource.wording.negative_replicas(call.served, call.name, replicas)


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
