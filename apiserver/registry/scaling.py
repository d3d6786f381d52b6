"""Changes of an object through its Scale: for `/scale` and for the in-process client.

An update makes the Scale of the object, changes and checks it, and copies its replicas, its
resourceVersion and uid, and its ownership back to the object. Follows
apiextensions-apiserver/pkg/registry/customresource/etcd.go (ScaleREST).
"""

from collections.abc import Callable
from typing import Any

import orjson

from inkube.apiserver.registry import changes, ownership, scales
from inkube.apiserver.registry.calls import Call
from inkube.apiserver.registry.scales import SCALE
from inkube.apiserver.registry.systemfields import SystemFields
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
    """Return the schema for the ownership of a Scale's fields."""
    return TypedSchema(table.schema(SCALE), custom=False)


def put(call: Call, scale: Object, system_fields: SystemFields) -> Update:
    """Return the update that replaces the Scale. Raises StatusError 400 if it is not a Scale."""
    try:
        found = builtin_decoding.decode(scale, SCALE)
    except builtin_decoding.DecodeError as error:
        # for custom resources, the reference's error does not name the type
        if call.resource.wording.scale_needs_replicas:
            raise status.bad_request(UNREGISTERED) from error
        raise builtin_decoding.refusal(SCALE, error) from error
    _tell_unknown(call, found.unknown)
    return _change(call, lambda old: decoded(scale), system_fields)


def patch(call: Call, kind: str, document: Any, system_fields: SystemFields) -> Update:
    """Return the update for a `json`, `merge`, `strategic` or `apply` patch of the Scale."""
    if kind == "apply":
        # an apply records ownership together with the fields
        return _change(call, lambda old: _applied(call, old, document, system_fields), None)
    return _change(call, lambda old: _patched(call, kind, old, document), system_fields)


def _change(
    call: Call, make: Callable[[Object], Object], system_fields: SystemFields | None
) -> Update:
    """Return an update that copies the replicas of the Scale that `make` returns for the object.

    With `system_fields`, the update also records the owners of changed fields.
    """

    def transform(old: Object | None) -> Object:
        assert old is not None, "a scale never creates"
        scale = make(old)
        _check(call, scale)
        if system_fields is not None:
            _track(call, old, scale, system_fields)
        return _carried_back(call, old, scale)

    return Update(transform, retry=True, tracks=False)


def _track(call: Call, old: Object, scale: Object, system_fields: SystemFields) -> None:
    writer = ownership.writer(call, system_fields.timestamp(), api_version=SCALE.api_version)
    before = scales.to_scale(call, old, lenient=True, with_ownership=True)
    scale.setdefault("metadata", {}).pop("managedFields", None)
    managedfields.track_update(before, scale, typed=_typed(), writer=writer)


def _applied(call: Call, old: Object, body: Object, system_fields: SystemFields) -> Object:
    writer = ownership.writer(call, system_fields.timestamp(), api_version=SCALE.api_version)
    before = scales.to_scale(call, old, lenient=True, with_ownership=True)
    force = call.options.force
    return apply_rules.apply(before, body, typed=_typed(), writer=writer, force=force)


def _patched(call: Call, kind: str, old: Object, document: Any) -> Object:
    new, _ = changes.patched(call, kind, scales.to_scale(call, old, with_ownership=True), document)
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
    """Warn about unknown fields, or refuse them under Strict. Raises StatusError 400."""
    if call.options.validation == "Ignore":
        return
    if call.options.validation == "Strict" and unknown:
        raise builtin_decoding.refusal(SCALE, bodies.strict_text(unknown))
    for text in unknown:
        call.warn(text)


def decoded(scale: Object) -> Object:
    """Return the Scale as decoded into its Go type. Raises StatusError 400."""
    try:
        return builtin_decoding.decode(scale, SCALE).object
    except builtin_decoding.DecodeError as error:
        raise builtin_decoding.refusal(SCALE, error) from error


def _check(call: Call, scale: Object) -> None:
    """Refuse negative replicas. Raises StatusError 422."""
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    if replicas >= 0:
        return
    raise call.resource.wording.negative_replicas(call.served, call.name, replicas)


def _carried_back(call: Call, old: Object, scale: Object) -> Object:
    """Return a copy of the object with the Scale's replicas, resourceVersion, uid and owners."""
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
