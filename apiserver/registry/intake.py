"""From a request's body to an object that the registry accepts.

Decodes, checks apiVersion and kind against the address, gives metadata its types, prunes and
defaults, and ignores, reports or refuses unknown and duplicate fields, as `fieldValidation`
requires. Patched objects pass the same steps. Follows
apiserver/pkg/endpoints/handlers/{create,update,patch}.go and apiextensions-apiserver's
schemaCoercingDecoder.
"""

from collections.abc import Callable

import orjson

from inkube.apiserver.registry.calls import Call
from inkube.schemas import bodies as decoding
from inkube.schemas import sealing, status
from inkube.schemas.builtin import patch_refusal, unstructured
from inkube.schemas.golang import DecodeError, gotext
from inkube.schemas.objects import Object


def admit(call: Call, obj: Object, duplicates: list[str], text: bytes = b"") -> Object:
    """Type, prune and default an object, in place if possible, and return it.

    `text` is the JSON of an object that is decoded into a Go type. Strict errors then have its
    order. Without it, duplicate fields come before unknown fields.

    Raises StatusError 400 if a value does not fit its field, or for unknown and duplicate fields
    under Strict.
    """
    if call.resource.definition.has_secrets:
        sealing.seal(obj, call.sealed)
    kind = call.served.kind
    api_version, sent = obj.get("apiVersion") or "", obj.get("kind") or kind
    try:
        obj, unknown = _decode(call, obj)
    except DecodeError as error:
        raise decoding.cannot_handle(api_version, sent, kind, error.text) from error
    found = [*duplicates, *unknown]
    if text:
        found = decoding.in_document_order(text, duplicates, unknown)
    if found and call.options.validation == "Strict":
        raise decoding.cannot_handle(api_version, sent, kind, decoding.strict_text(found))
    for told in found:
        call.warn(told)
    return obj


def admit_patched(
    call: Call,
    obj: Object,
    of_patch: list[str],
    patch_text: Callable[[], str],
    *,
    strategic: bool = False,
) -> Object:
    """Type, prune and default the result of a patch, and return it. Raises StatusError 422.

    `of_patch` are the strict errors of the patch itself. `patch_text` returns the text of the
    patch, for a refusal that is due to these errors alone. Unknown fields of Go types are sorted by
    their texts after a strategic patch (converter.go, FromUnstructuredWithValidation), and have the
    order of JSON with sorted members after other patches. Follows jsonPatcher and smpPatcher of
    handlers/patch.go.
    """
    before = b"" if strategic else orjson.dumps(obj)  # decoding changes the object

    def whole() -> str:
        return patch_text() if strategic else gotext.compact_json(orjson.loads(before))

    ignored = call.options.validation == "Ignore"
    try:
        obj, found = _decode(call, obj)
    except DecodeError as error:
        text = unstructured.trouble(obj, call.served.gvk) if strategic else ""
        raise patch_refusal(whole(), text or error.text) from error
    if len(found) > 1 and call.resource.wording.has_messages:
        found = sorted(found, key=None if strategic else decoding.by_path)
    strict = [] if ignored else [*of_patch, *found]
    if strict and call.options.validation == "Strict":
        raise patch_refusal(whole() if found else patch_text(), decoding.strict_text(strict))
    for text in strict:
        call.warn(text)
    return obj


def _decode(call: Call, obj: Object) -> tuple[Object, list[str]]:
    unknown: list[str] | None = None if call.options.validation == "Ignore" else []
    call.empties = []
    obj = call.resource.decode(call.served, obj, unknown, call.empties)
    return obj, unknown or []


def check_namespace(call: Call, obj: Object) -> None:
    """Check the body's namespace against the address, or set it if it is missing. Raises
    StatusError 400."""
    meta = obj.get("metadata")
    if meta is None:
        meta = obj["metadata"] = {}
    if not call.resource.namespaced:
        meta.pop("namespace", None)
    elif not meta.get("namespace"):
        meta["namespace"] = call.namespace
    elif meta["namespace"] != call.namespace:
        raise status.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def check_name(call: Call, obj: Object) -> None:
    """Check the body's name against the address. Raises StatusError 400."""
    name = obj["metadata"].get("name") or ""
    if not name:
        raise status.bad_request(
            f"the name of the object ({call.name} based on URL) was undeterminable: "
            "name must be provided"
        )
    if name != call.name:
        raise status.bad_request(
            f"the name of the object ({name}) does not match the name on the URL ({call.name})"
        )
