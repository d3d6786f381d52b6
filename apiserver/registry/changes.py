"""The kinds of update, which make the new object: PUT, the three patches, apply.

Each function returns an `Update`. HTTP and the in-process client use the same functions.
"""

from typing import Any, NamedTuple

import orjson

from inkube.apiserver.registry import conversions, intake, ownership
from inkube.apiserver.registry.calls import Call
from inkube.apiserver.registry.preparation import uid_without_object
from inkube.apiserver.registry.systemfields import SystemFields
from inkube.apiserver.registry.update import Update
from inkube.schemas import bodies as decoding
from inkube.schemas import patch as patches
from inkube.schemas import sealing, status
from inkube.schemas.golang import cannot_unmarshal, gotext
from inkube.schemas.objects import Object
from inkube.schemas.ownership import apply as apply_rules


class Patch(NamedTuple):
    """A patch document, the errors for its duplicate keys, and its text."""

    value: Any
    duplicates: list[str]
    text: str = ""


def put(call: Call, obj: Object) -> Update:
    """Replace the object with a body that `intake.admit` accepted."""
    fresh = orjson.dumps(obj)

    def transform(old: Object | None) -> Object:
        new: Object = orjson.loads(fresh)
        return new

    unconditional = not obj["metadata"].get("resourceVersion")
    definition = call.resource.definition
    relaxed = definition.relaxed_subresources or not call.subresource
    create = definition.create_on_update and relaxed
    return Update(
        transform, retry=unconditional, create=create, repeatable=unconditional, shares=True
    )


def put_status(obj: Object) -> Update:
    """Replace metadata and status with those of `obj`. The rest of the stored object stays."""
    fresh = orjson.dumps({name: obj[name] for name in ("metadata", "status") if name in obj})

    def transform(old: Object | None) -> Object:
        assert old is not None, "a status is never created"
        kept = {name: value for name, value in old.items() if name != "status"}
        return {**kept, **orjson.loads(fresh)}

    unconditional = not obj["metadata"].get("resourceVersion")
    return Update(transform, retry=unconditional, repeatable=unconditional, shares=True)


def patch(call: Call, kind: str, document: Patch) -> Update:
    """Apply a `json`, `merge` or `strategic` patch."""
    has_secrets = call.resource.definition.has_secrets
    if has_secrets:
        document = _sealed(call, kind, document)
    body = document.value

    def shown() -> str:
        return gotext.plain(body) if kind == "strategic" else document.text

    def transform(old: Object | None) -> Object:
        assert old is not None, "patches never create"
        new, unknown = patched(call, kind, old, body)
        if not isinstance(new, dict):
            raise status.bad_request("a patch must leave an object")
        if has_secrets:
            sealing.note_removed(new, old, body)
        call.resource.wording.check_patched_type(call.served, new)
        strict = document.duplicates
        if kind == "json":
            strict = decoding.in_document_order(document.text.encode(), strict, unknown)
            strict = [f"json patch {text}" for text in strict]
        new = intake.admit_patched(call, new, strict, shown, strategic=kind == "strategic")
        intake.check_namespace(call, new)
        intake.check_name(call, new)
        return new

    version = _of_version(kind, body)
    repeatable = not version.named and not version.read
    return Update(transform, retry=not version.named, repeatable=repeatable, is_patch=True)


def _sealed(call: Call, kind: str, document: Patch) -> Patch:
    """The document with sealed values, also in its text."""
    value = document.value
    if kind == "json":
        value = sealing.seal_json_patch(value, call.sealed)
    elif isinstance(value, dict):
        value = dict(value)
        sealing.seal(value, call.sealed)
    return document._replace(value=value, text=gotext.compact_json(value) if document.text else "")


def patched(call: Call, kind: str, old: Object, body: Any) -> tuple[Object, list[str]]:
    """Return the object with a patch of that kind applied, and unknown fields of its operations.

    `old` does not change. Raises StatusError.
    """
    if kind == "json":
        return patches.apply_json_patch(old, body)
    if kind == "merge":
        return patches.merge(old, body), []
    return patches.strategic(old, body, call.served.version.schema), []


_VERSION = "/metadata/resourceVersion"
_WITH_VERSION = ("", "/metadata", _VERSION)


class _OfVersion(NamedTuple):
    """Whether a patch sets the resourceVersion, and whether its result depends on it."""

    named: bool
    """Whether the patch sets the resourceVersion. A lost race is then a conflict."""
    read: bool
    """Whether the result of the patch can depend on the stored resourceVersion."""


def _of_version(kind: str, body: Any) -> _OfVersion:
    if kind == "json":
        return _of_steps(body) if isinstance(body, list) else _OfVersion(named=False, read=True)
    meta = body.get("metadata") if isinstance(body, dict) else None
    named = isinstance(meta, dict) and bool(meta.get("resourceVersion"))
    return _OfVersion(named=named, read=False)


def _of_steps(steps: list[Any]) -> _OfVersion:
    """Return how a JSON patch depends on the resourceVersion. A patch can have 10,000 operations,
    so the loop calls no functions."""
    named = read = False
    for step in steps:
        if step.__class__ is not dict:
            continue
        if "path" in step and step["path"] in _WITH_VERSION:
            read = True
            named = named or step["path"] == _VERSION
        if "from" in step and step["from"] in _WITH_VERSION:
            read = True
    return _OfVersion(named, read)


def apply(call: Call, body: Object, system_fields: SystemFields) -> Update:
    """Server-side apply of a decoded body. Raises StatusError 400 if it names another object.

    The checks have the order of applyPatcher and patcher.applyPatch in handlers/patch.go.
    """
    if call.resource.definition.has_secrets:
        sealing.seal(body, call.sealed)
    if body.get("metadata") is None:
        body["metadata"] = {}
    if not isinstance(body["metadata"], dict):
        error = cannot_unmarshal(body["metadata"], "v1.ObjectMeta")
        kind = call.served.kind
        raise decoding.cannot_handle(call.served.api_version, kind, kind, error.text)
    force = call.options.force

    async def transform(old: Object | None) -> Object:
        steps = apply_rules.steps(
            old,
            body,
            typed=call.served.typed,
            writer=ownership.writer(call, system_fields.timestamp()),
            force=force,
            versions=ownership.versions(call.resource),
        )
        merged = await conversions.finish(call.resource, steps)
        made = call.resource.decode_applied(call.served, merged)
        uid = made["metadata"].get("uid")
        if uid and old is None:
            raise uid_without_object(call, uid)
        # as upstream, names are checked only after the merge
        intake.check_namespace(call, made)
        intake.check_name(call, made)
        return made

    names_version = bool(body["metadata"].get("resourceVersion"))
    return Update(
        transform,
        retry=not names_version,
        create=not call.subresource,
        tracks=False,
        repeatable=not names_version,
        is_patch=True,
    )


def from_patch(call: Call, kind: str, document: Patch, system_fields: SystemFields) -> Update:
    """Return the update for a decoded PATCH. Raises StatusError 400."""
    if kind == "apply":
        if call.options.validation != "Ignore":
            for text in document.duplicates:
                call.warn(text)
        return apply(call, document.value, system_fields)
    return patch(call, kind, document)
