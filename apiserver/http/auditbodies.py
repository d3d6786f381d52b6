"""The objects in the bodies of requests and responses, as audit events contain them.

Follows apiserver/pkg/audit/request.go (LogRequestObject, LogRequestPatch, LogResponseObject).
"""

import gzip
from typing import Any

import orjson

from inkube.apiserver.registry import Request
from inkube.schemas import empties, golang, sealing
from inkube.schemas.builtin import decoding, protobuf, rules
from inkube.schemas.meta import GVK
from inkube.schemas.objects import Empty, Object

Decoded = Object | list[Any]
_WRITES = ("create", "update")
_DELETIONS = ("delete", "deletecollection")
_INTERNAL = "meta.k8s.io/__internal"
"""The apiVersion of the options of deletions in events (handlers/delete.go)."""


def of_request(body: bytes, media: str, verb: str, request: Request | None) -> Decoded | None:
    """Return the object in the body of a request with the types and defaults of its version, or a
    patch as it was sent. None if there is no object, or if the server cannot read it.

    Secret values of kinds declared in Python are replaced. `request` is None if it was refused
    early; then the body can be one of such a kind.
    """
    found = _public(decode(body, media), request)
    if isinstance(found, list) or found is None or request is None:
        return found
    if verb in _DELETIONS:
        return {**found, "kind": "DeleteOptions", "apiVersion": _INTERNAL}
    if verb not in _WRITES:
        return found
    return found if request.resource.definition.has_secrets else _typed(found, request)


def of_response(body: bytes, media: str, request: Request | None) -> Decoded | None:
    """Return the object in the body of a response, as `of_request`; None for a document that is no
    object of a kind."""
    found = _public(decode(body, media), request)
    return found if isinstance(found, dict) and found.get("kind") else None


def without_managers(body: Decoded) -> Decoded:
    """Return an object, or a list of objects, without managedFields. Changes it."""
    if isinstance(body, dict):
        for obj in (body, *(body.get("items") or ())):
            if isinstance(obj, dict) and isinstance(obj.get("metadata"), dict):
                obj["metadata"].pop("managedFields", None)
    return body


def _public(body: Decoded | None, request: Request | None) -> Decoded | None:
    """Return a body without secret values. Changes it."""
    if request is None or request.resource.definition.has_secrets:
        if isinstance(body, list):
            return None
        if body is not None:
            sealing.redact(body)
    return body


def _typed(obj: Object, request: Request) -> Object | None:
    """Return the object of a create or update as the server reads it; None if it cannot."""
    served = request.served
    kind = _kind(request)
    obj = {"kind": kind.kind, "apiVersion": kind.api_version, **obj}
    if obj["kind"] != kind.kind or obj["apiVersion"] != kind.api_version:
        return None
    try:
        if kind == served.gvk:
            places: list[Empty] = []
            made = request.resource.decode(served, obj, None, places)
            empties.show_written(made, places)
            return made
        found = decoding.decode(obj, kind, served.definition.minor)
        empties.show_written(found.object, found.empties)
        rules.book(served.definition.minor).defaults(found.object, kind)
        return found.object
    except golang.DecodeError:
        return None
    except LookupError:  # a kind without a Go type
        return obj


def _kind(request: Request) -> GVK:
    """Return the kind of objects that a path accepts."""
    own = request.served.gvk
    subresource = request.served.version.subresource(request.subresource)
    if subresource is None or not subresource.kind:
        return own
    if not subresource.version:
        return own._replace(kind=subresource.kind)
    return GVK(subresource.group, subresource.version, subresource.kind)


def decode(body: bytes, media: str = "") -> Decoded | None:
    """Decode a body of JSON, YAML or protobuf, which can be gzip. Returns None for others."""
    if body.startswith(b"\x1f\x8b"):
        body = gzip.decompress(body)
    if body.startswith(protobuf.envelopes.PREFIX):
        return _decode_protobuf(body)
    try:
        value = orjson.loads(body)
    except ValueError:
        if "yaml" not in media:
            return None
        try:
            value = golang.goyaml.loads(body).value
        except golang.unmarshal.DecodeError:
            return None  # a refused body
    return value if isinstance(value, dict | list) else None


def _decode_protobuf(body: bytes) -> Object | None:
    try:
        api_version, kind, data = protobuf.envelopes.decode_envelope(body)
        gvk = GVK.of(api_version, kind)
        if not protobuf.envelopes.can_carry(gvk):
            return None
        found = protobuf.envelopes.decode(data, gvk)
        return decoding.decode(found, gvk).object
    except (protobuf.wire.WireError, golang.DecodeError, ValueError):
        return None  # a refused body
    except LookupError:
        return found
