"""How each kind of update makes the new object: PUT, the three patches, apply.

Each function returns an `Update` of the registry; HTTP and the in-process client use the same ones.
"""

from typing import Any, NamedTuple

import orjson

from inkube.apiserver.registry import conversions, intake, ownership
from inkube.apiserver.registry.calls import Call
from inkube.apiserver.registry.registry import Update
from inkube.apiserver.registry.stamps import Stamps
from inkube.schemas import bodies as decoding
from inkube.schemas import patch as patches
from inkube.schemas import status
from inkube.schemas.golang.unmarshal import cannot_unmarshal
from inkube.schemas.ownership import apply as apply_rules

Object = dict[str, Any]


class Patch(NamedTuple):
    """A patch document, and the keys it repeats."""

    value: Any
    duplicates: list[str]


def put(call: Call, obj: Object) -> Update:
    """Replace by a body that passed `intake.admit`."""
    fresh = orjson.dumps(obj)

    def transform(old: Object | None) -> Object:
        new: Object = orjson.loads(fresh)
        return new

    unconditional = not obj["metadata"].get("resourceVersion")
    behaviour = call.resource.behaviour
    create = behaviour.create_on_update and (behaviour.lenient_status or not call.subresource)
    return Update(transform, retry=unconditional, create=create, shares=True)


def put_status(obj: Object) -> Update:
    """Replace metadata and status by those of an object; the rest stays the stored one's."""
    fresh = orjson.dumps({name: obj[name] for name in ("metadata", "status") if name in obj})

    def transform(old: Object | None) -> Object:
        assert old is not None, "a status is never created"
        kept = {name: value for name, value in old.items() if name != "status"}
        return {**kept, **orjson.loads(fresh)}

    return Update(transform, retry=not obj["metadata"].get("resourceVersion"), shares=True)


def patch(call: Call, kind: str, document: Patch) -> Update:
    """A `json`, `merge` or `strategic` patch."""
    body = document.value

    def transform(old: Object | None) -> Object:
        assert old is not None, "patches never create"
        new = patched(call, kind, old, body)
        if not isinstance(new, dict):
            raise status.bad_request("a patch must leave an object")
        call.resource.voice.check_patched_type(call.served, new)
        strategic = body if kind == "strategic" else None
        new = intake.admit_patched(call, new, document.duplicates, strategic=strategic)
        intake.check_namespace(call, new)
        intake.check_name(call, new)
        return new

    return Update(transform, retry=not _names_version(kind, body))


def patched(call: Call, kind: str, old: Object, body: Any) -> Object:
    """The object with a patch of that kind applied; `old` stays. Raises StatusError."""
    if kind == "json":
        new, warnings = patches.apply_json_patch(old, body)
        if call.options.validation != "Ignore":
            for warning in warnings:
                call.warn(warning)
        return new
    if kind == "merge":
        return patches.merge(old, body)
    return patches.strategic(old, body, call.served.version.schema)


def _names_version(kind: str, body: Any) -> bool:
    """Whether the patch itself says which version it is for; then a lost race is a conflict."""
    if kind == "json":
        steps = body if isinstance(body, list) else []
        return any(
            isinstance(step, dict) and step.get("path") == "/metadata/resourceVersion"
            for step in steps
        )
    meta = body.get("metadata") if isinstance(body, dict) else None
    return isinstance(meta, dict) and bool(meta.get("resourceVersion"))


def apply(call: Call, body: Object, stamps: Stamps) -> Update:
    """Server-side apply of a decoded body. Raises StatusError 400 when it names another object."""
    if "apiVersion" not in body and "kind" not in body:
        raise status.bad_request("invalid object type: /, Kind=")
    if not all(isinstance(body.get(name) or "", str) for name in ("apiVersion", "kind")):
        raise status.bad_request("invalid object type: apiVersion and kind must be strings")
    if body.get("metadata") is None:
        body["metadata"] = {}
    if not isinstance(body["metadata"], dict):
        error = cannot_unmarshal(body["metadata"], "v1.ObjectMeta")
        kind = call.served.kind
        raise decoding.cannot_handle(call.served.api_version, kind, kind, error.text)
    # The namespace is not filled in: texts of errors show the configuration as it was sent.
    intake.check_namespace(call, {"metadata": {**body["metadata"]}})
    intake.check_name(call, body)
    force = call.options.force

    async def transform(old: Object | None) -> Object:
        steps = apply_rules.steps(
            old,
            body,
            typed=call.served.typed,
            writer=ownership.writer(call, stamps.timestamp()),
            force=force,
            versions=ownership.versions(call.resource),
        )
        merged = await conversions.finish(call.resource, steps)
        return call.resource.behaviour.decode_applied(call.served, merged)

    names_version = bool(body["metadata"].get("resourceVersion"))
    return Update(transform, retry=not names_version, create=not call.subresource, tracks=False)


def from_patch(call: Call, kind: str, document: Patch, stamps: Stamps) -> Update:
    """The change a decoded PATCH asks for. Raises StatusError 400."""
    if kind == "apply":
        return apply(call, document.value, stamps)
    return patch(call, kind, document)
