"""From a request's body to an object that the registry accepts.

Checks apiVersion, kind, namespace and name against the address, gives metadata its types, prunes
and defaults, and ignores, reports or refuses unknown and duplicate fields, as `fieldValidation`
requires. Patched objects pass the same steps in `patched`. Follows
apiserver/pkg/endpoints/handlers/{create,update,patch}.go and apiextensions-apiserver's
schemaCoercingDecoder.
"""

from collections.abc import Sequence
from typing import NamedTuple

from inkube.apiserver.registry.lifetimes import Lifetime
from inkube.apiserver.registry.requests import Body, Notes, Request, Sealed
from inkube.apiserver.registry.resource import Resource
from inkube.schemas import bodies as decoding
from inkube.schemas import builtin, sealing, status
from inkube.schemas.builtin import decoding as builtin_decoding
from inkube.schemas.empties import show_written
from inkube.schemas.golang import DecodeError
from inkube.schemas.meta import GVK
from inkube.schemas.objects import Empty, Object
from inkube.schemas.served import Served
from inkube.schemas.strategy import User


def request(
    verb: str,
    resource: Resource,
    served: Served,
    user: User,
    *,
    namespace: str = "",
    name: str = "",
    subresource: str = "",
    manager: str = "",
    lifetime: Lifetime | None = None,
) -> Request:
    """Return a request for an address. A cluster-scoped kind has no namespace."""
    namespace = namespace if resource.namespaced else ""
    notes = Notes()
    return Request(
        verb,
        resource,
        served,
        notes,
        namespace,
        name,
        subresource,
        user,
        manager=manager,
        lifetime=lifetime,
    )


class Sent(NamedTuple):
    """The object in a body, decoded from its bytes."""

    object: Object
    size: int = 0
    """The bytes of the body."""
    duplicates: Sequence[str] = ()
    """The texts for members that the body repeats."""
    text: bytes = b""
    """The JSON of an object of a Go type. Strict errors then have its order. Without it, repeated
    members come before unknown ones."""


def accept(request: Request, sent: Sent) -> Body:
    """Check the object of a create or update, type, prune and default it, in place if possible.

    Raises StatusError 400 if it does not fit the address, if a value does not fit its field, or for
    unknown and repeated members under Strict.
    """
    served, wording, obj = request.served, request.resource.wording, sent.object
    sealed = Sealed()
    if request.resource.definition.has_secrets:
        sealing.seal(obj, sealed)
    wording.check_type(served, obj)
    obj.setdefault("apiVersion", "")
    api_version, kind = obj["apiVersion"] or "", obj.get("kind") or served.kind
    try:
        obj, unknown, empties = decode(request, obj)
    except DecodeError as error:
        raise decoding.cannot_handle(api_version, kind, served.kind, error.text) from error
    found = [*sent.duplicates, *unknown]
    if sent.text:
        found = decoding.in_document_order(sent.text, list(sent.duplicates), unknown)
    if found and request.options.validation == "Strict":
        raise decoding.cannot_handle(api_version, kind, served.kind, decoding.strict_text(found))
    for text in found:
        request.warn(text)
    wording.check_version(served, obj)
    check_namespace(request, obj)
    if request.verb == "update":
        check_name(request, obj)
    elif request.name:
        if wording.names_match and obj["metadata"].get("name"):
            check_name(request, obj)
        obj["metadata"]["name"] = request.name
    return Body(obj, sent.size, empties, sealed)


def accept_kind(request: Request, sent: Object, kind: GVK) -> Object:
    """Check, type and default the object of another kind than the address: a Scale, a Binding, an
    Eviction. It is not stored, so lists that Go always writes can be empty. Raises StatusError
    400."""
    builtin_decoding.check_type(sent, kind)
    try:
        found = builtin_decoding.decode(sent, kind)
    except DecodeError as error:
        raise builtin_decoding.refusal(kind, error) from error
    report_unknown(request, kind, decoding.unknown_fields(found.unknown))
    show_written(found.object, found.empties)
    builtin.rules.book(request.resource.definition.minor).defaults(found.object, kind)
    return found.object


def report_unknown(request: Request, kind: GVK, unknown: list[str]) -> None:
    """Warn about unknown fields of another kind than the address, or refuse them under Strict.
    Raises StatusError 400."""
    validation = request.options.validation
    if unknown and validation == "Strict":
        raise builtin_decoding.refusal(kind, decoding.strict_text(unknown))
    if validation != "Ignore":
        for text in unknown:
            request.warn(text)


def decode(
    request: Request, obj: Object, *, restored: bool = False
) -> tuple[Object, list[str], list[Empty]]:
    """Return an object with its types and defaults, the texts for its unknown fields, and its empty
    lists and maps. `restored` is the result of a strategic patch. Raises DecodeError."""
    unknown: list[str] | None = None if request.options.validation == "Ignore" else []
    empties: list[Empty] = []
    obj = request.resource.decode(request.served, obj, unknown, empties, restored=restored)
    return obj, unknown or [], empties


def check_namespace(request: Request, obj: Object) -> None:
    """Check the body's namespace against the address, or set it if it is missing. Raises
    StatusError 400."""
    meta = obj.get("metadata")
    if meta is None:
        meta = obj["metadata"] = {}
    if not request.resource.namespaced:
        meta.pop("namespace", None)
    elif not meta.get("namespace"):
        meta["namespace"] = request.namespace
    elif meta["namespace"] != request.namespace:
        raise status.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def check_name(request: Request, obj: Object) -> None:
    """Check the body's name against the address. Raises StatusError 400."""
    name = obj["metadata"].get("name") or ""
    if not name:
        raise status.bad_request(
            f"the name of the object ({request.name} based on URL) was undeterminable: "
            "name must be provided"
        )
    if name != request.name:
        raise status.bad_request(
            f"the name of the object ({name}) does not match the name on the URL ({request.name})"
        )
