"""Reading request bodies: size, media type, patches, DeleteOptions."""

from typing import Any

from aiohttp import hdrs, web

from inkube.apiserver.registry import Patch, PlainEngine, Request, Sent
from inkube.schemas import bodies, status, wordings
from inkube.schemas.builtin import protobuf
from inkube.schemas.golang import DecodeError, cannot_unmarshal, quote
from inkube.schemas.meta import GVK
from inkube.schemas.objects import Object
from inkube.schemas.wordings import Wording

MAX_BODY = 3 * 1024 * 1024  # apiserver/pkg/server/config.go: MaxRequestBodyBytes
JSON = "application/json"
_MEDIA = {JSON: "json", "application/yaml": "yaml"}
_BYTES = "application/octet-stream"
_PROTOBUF = "application/vnd.kubernetes.protobuf"
PROTOBUF = "protobuf"
_PATCHES = {
    "application/json-patch+json": "json",
    "application/merge-patch+json": "merge",
    "application/apply-patch+yaml": "apply",
    "application/strategic-merge-patch+json": "strategic",
}


async def read(request: web.BaseRequest) -> bytes:
    """Return the whole body. Raises StatusError 413 above 3 MiB or the kind's own limit, and 400
    if the body cannot be read."""
    try:
        return await request.read()
    except web.HTTPRequestEntityTooLarge as error:
        raise too_large(getattr(request, "largest", 0)) from error
    except web.RequestPayloadError as error:
        raise status.bad_request("the body could not be read") from error


def too_large(limit: int = 0) -> status.StatusError:
    """413: a body has more bytes than the limit of its kind, or without one, than MAX_BODY."""
    return status.too_large(f"Request entity too large: limit is {limit or MAX_BODY}")


async def metadata(request: web.BaseRequest) -> dict[str, Any] | None:
    """Return the metadata of the object in a body; None if the body is not an object with metadata
    (it is refused later)."""
    try:
        body, media = await read(request), media_type(request)
        if media == PROTOBUF:
            head, data = open_protobuf(body, "")
            value: Any = decode_protobuf(data, GVK.of(head["apiVersion"], head["kind"]))
        else:
            kind: bodies.Media = "yaml" if media == "yaml" else "json"
            value = bodies.decode(body, kind, want_duplicates=False).value
    except (status.StatusError, DecodeError):
        return None
    result = value.get("metadata") if isinstance(value, dict) else None
    return result if isinstance(result, dict) else None


def media_type(request: web.BaseRequest) -> str:
    """Return `json`, `yaml` or `protobuf`. Without a Content-Type it is JSON. Raises StatusError
    415."""
    header = request.headers.get(hdrs.CONTENT_TYPE)
    if not header or header == JSON:
        return "json"
    media = header.partition(";")[0].strip().lower()
    if media in _MEDIA:
        return _MEDIA[media]
    if media == _PROTOBUF:
        return PROTOBUF
    media_types = f"{JSON}, application/yaml, {_PROTOBUF}"
    raise status.unsupported_media_type(wordings.UNKNOWN_FORMAT + media_types)


def require_json(request: web.BaseRequest, body: bytes) -> None:
    """Accept only JSON for parameters of inkube's own endpoints, and no Content-Type as JSON.

    Web pages can send other media types, such as `text/plain`, to every server without a preflight
    request. Without a body, clients can send the type of arbitrary bytes, for which pages need one.
    Raises StatusError 415.
    """
    header = request.headers.get(hdrs.CONTENT_TYPE, JSON)
    media = header.partition(";")[0].strip().lower()
    if media != JSON and (body or media != _BYTES):
        raise status.unsupported_media_type(
            f"parameters have the Content-Type {JSON}, not {media or 'an empty one'}"
        )


def decode_object(request: Request, body: bytes, media: str) -> Sent:
    """Decode the object of a create or update. Raises StatusError 400 or 415."""
    served, wording = request.served, request.resource.wording
    if media == PROTOBUF:
        head, data = open_protobuf(body, served.kind)
        wording.check_type(served, head)
        return Sent(decode_protobuf(data, served.gvk), len(body))
    validation = request.options.validation
    decoded = bodies.decode_object(
        body,
        "yaml" if media == "yaml" else "json",
        kind=served.kind,
        want_duplicates=validation != "Ignore",
        needs_kind=wording.body_names_kind,
        typed_group=served.gvk.group if wording.has_messages else None,
    )
    duplicates = decoded.strict_texts() if validation == "Strict" else decoded.duplicates
    if not wording.has_messages:
        return Sent(decoded.value, len(body), duplicates)
    if media == "yaml":  # the kind has a Go type, whose fields have an order
        return Sent(bodies.sorted_keys(decoded.value), len(body), duplicates)
    return Sent(decoded.value, len(body), duplicates, body)


def patch_kind(request: web.BaseRequest, wording: Wording) -> str:
    """Return the kind of patch for the Content-Type. Raises StatusError 415."""
    media = request.headers.get(hdrs.CONTENT_TYPE, "").partition(";")[0].strip().lower()
    kind = _PATCHES.get(media, "")
    if kind in wording.patches:
        return kind
    raise wording.unknown_patch(name for name, kind in _PATCHES.items() if kind in wording.patches)


_INTO_OPERATION = "into Go struct field jsonPatchOp.value of type float64"


def decode_patch(kind: str, body: bytes) -> Patch:
    """Return the patch document. Raises StatusError 400 if it cannot be decoded."""
    media: bodies.Media = "yaml" if kind == "apply" else "json"
    try:
        decoded = bodies.decode(body, media, want_duplicates=True)
    except DecodeError as error:
        if kind == "strategic":
            raise status.bad_request(error.text) from error
        subject = "YAML: error converting YAML to JSON" if kind == "apply" else "patch"
        text = error.text
        if kind == "json":  # only the value of an operation can be a number
            text = text.replace("into Go value of type float64", _INTO_OPERATION)
        raise status.bad_request(f"error decoding {subject}: {text}") from error
    if kind != "apply":
        return Patch(decoded.value, decoded.duplicates, body.decode("utf-8", "replace"), len(body))
    value = applied({} if decoded.value is None else decoded.value)
    return Patch(value, decoded.duplicates, size=len(body))


def applied(value: Any) -> Object:
    """Return the object of a server-side apply. Raises StatusError 400 for other values."""
    if not isinstance(value, dict):
        message = cannot_unmarshal(value, "map[string]interface {}").text
        raise status.bad_request(
            f"error decoding YAML: error unmarshaling JSON: while decoding JSON: {message}"
        )
    return value


async def read_delete_options(request: web.BaseRequest, engine: PlainEngine) -> Object | None:
    """Return the DeleteOptions of a body, or None without a body. Raises StatusError 400 or 415."""
    if not request.can_read_body:
        return None
    body = await read(request)
    if not body:
        return None
    media = media_type(request)
    try:
        value = await engine.run(len(body), decode_kind, body, media, "DeleteOptions")
    except status.StatusError as error:
        if not error.bare_message:
            raise
        # other requests add a prefix to the decoder's text, deletions do not
        raise status.bad_request(error.bare_message) from error
    kind, version = value.get("kind"), value.get("apiVersion") or "meta.k8s.io/v1"
    if kind and kind != "DeleteOptions":
        raise status.bad_request(
            f"no kind {quote(kind)} is registered for version {quote(version)} in "
            'scheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"'
        )
    return value


def decode_kind(body: bytes, media: str, kind: str) -> Object:
    """Return a body that must be an object of the kind; `kind` can be missing in it. Raises
    StatusError 400 or 415."""
    if media == PROTOBUF:
        head, data = open_protobuf(body, kind)
        return decode_protobuf(data, GVK.of(head["apiVersion"], head["kind"] or kind))
    decoded_media: bodies.Media = "yaml" if media == "yaml" else "json"
    decoded = bodies.decode_object(
        body, decoded_media, kind=kind, want_duplicates=False, needs_kind=False
    )
    value: Object = decoded.value
    return value


def open_protobuf(body: bytes, kind: str) -> tuple[Object, bytes]:
    """Return the apiVersion and kind in a protobuf envelope, and the bytes of the message. Raises
    StatusError 400."""
    if not body:
        raise bodies.unrecognized(body, kind, "empty data")
    if not body.startswith(protobuf.envelopes.PREFIX):
        text = (
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
        )
        raise bodies.unrecognized(body, kind, text)
    if body == protobuf.envelopes.PREFIX:
        raise bodies.unrecognized(body, kind, "empty body")
    try:
        version, kind_name, data = protobuf.envelopes.decode_envelope(body)
    except protobuf.wire.WireError as error:
        raise bodies.unrecognized(body, kind, str(error)) from error
    return {"apiVersion": version, "kind": kind_name}, data


def decode_protobuf(data: bytes, gvk: GVK) -> Object:
    """Decode an object from its message. Raises StatusError 400, and 415 for kinds without a
    message type."""
    if not protobuf.envelopes.can_carry(gvk):
        raise status.unsupported_media_type(
            f"protobuf is not supported for {gvk.kind}; send JSON or YAML"
        )
    try:
        return protobuf.envelopes.decode(data, gvk)
    except protobuf.wire.WireError as error:
        refusal = bodies.cannot_handle(gvk.api_version, gvk.kind, gvk.kind, str(error))
        refusal.bare_message = str(error)
        raise refusal from error
