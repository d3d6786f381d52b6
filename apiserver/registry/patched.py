"""From a patched object to an object that the registry accepts.

The same checks as in `intake`, but refusals show the patched text, and name the errors in its
order. Follows jsonPatcher and smpPatcher of apiserver/pkg/endpoints/handlers/patch.go.
"""

from collections.abc import Callable, Sequence
from typing import Any

from inkube.apiserver.registry import intake
from inkube.apiserver.registry.requests import Request
from inkube.apiserver.registry.write import Write
from inkube.schemas import bodies as decoding
from inkube.schemas import builtin
from inkube.schemas.builtin import patch_refusal
from inkube.schemas.golang import DecodeError, gojson, gotext
from inkube.schemas.meta import GVK
from inkube.schemas.objects import Empty, Object
from inkube.schemas.status import StatusError


def accept(
    write: Write,
    obj: Object,
    of_patch: list[str],
    *,
    unpacked: "Callable[[], builtin.memberorder.Unpacked] | None" = None,
    remainder: Callable[[], str] | None = None,
) -> Object:
    """Type, prune and default the result of a patch, and return it. Raises StatusError 422.

    `of_patch` are the strict errors of the patch itself. `remainder`, for strategic patches only,
    returns the text that refusals show. Other refusals show the patched text, in which `unpacked`
    objects are sorted. Errors of Go types have the order of that text; unknown fields are sorted by
    their texts after a strategic patch (converter.go, FromUnstructuredWithValidation). Follows
    jsonPatcher and smpPatcher of handlers/patch.go.
    """
    request = write.request
    before = b"" if remainder else gojson.written(obj)  # decoding changes the object
    has_messages = request.resource.wording.has_messages

    def in_order() -> Object:
        """Return the object with its members in the order of upstream's text."""
        value: Object = gojson.loads(before, texts=True)
        if not has_messages or write.old is None:
            return value
        new = unpacked() if unpacked else builtin.memberorder.Unpacked()
        ordered: Object = builtin.memberorder.patched(write.old, value, new, request.served.gvk)
        return ordered

    def whole() -> str:
        if remainder:
            return remainder()
        if not has_messages:
            return gotext.compact_json(in_order())
        return gotext.escaped_html(gojson.written(in_order()).decode())

    try:
        of_type = _settle_type(request, obj, by_text=remainder is None)
    except DecodeError as error:
        raise patch_refusal(whole(), error.text) from error
    try:
        obj, found, write.empties = _decode(request, obj, restored=remainder is not None)
    except DecodeError as error:
        first = error if remainder else _first_error(request, in_order(), error)
        raise patch_refusal(whole(), first.text) from error
    if len(found) > 1 and has_messages:
        found = sorted(found) if remainder else _in_order(request, in_order(), found)
    found = [*of_type, *found]
    strict = [] if request.options.validation == "Ignore" else [*of_patch, *found]
    if strict and request.options.validation == "Strict":
        raise patch_refusal(whole(), decoding.strict_text(strict))
    for text in strict:
        write.warn(text)
    intake.check_namespace(request, obj)
    intake.check_name(request, obj)
    assert write.old is not None, "only an apply creates an object"
    request.resource.wording.check_kept_type(request.served, obj, write.old, request.subresource)
    return obj


def no_object(value: Any) -> StatusError:
    """Return the error 422 for a patch that has made a list of an object."""
    problem = decoding.type_meta_problem(value)
    return patch_refusal(
        gotext.compact_json(value), f"couldn't get version/kind; json parse error: {problem}"
    )


def _settle_type(request: Request, obj: Object, *, by_text: bool) -> list[str]:
    """Give a patched object the type of the path, in place. Returns strict errors. Raises
    StatusError and DecodeError."""
    served = request.served
    if by_text:
        return request.resource.wording.check_patched_type(served, obj)
    # it is not decoded from a text, so that only the types of these two matter
    head = {"apiVersion": served.api_version, "kind": served.kind}
    obj |= {name: head[name] for name in head if isinstance(obj.get(name), str | None)}
    return []


def _decode(
    request: Request, obj: Object, *, restored: bool
) -> tuple[Object, list[str], Sequence[Empty]]:
    """Decode a patched object, as `intake.decode`. A custom resource of another version has the
    fields of that version, and one of another group or kind any fields (schemaCoercer.apply of
    apiextensions-apiserver)."""
    resource, served = request.resource, request.served
    if resource.wording.has_messages:
        return intake.decode(request, obj, restored=restored)
    given = GVK.of(obj.get("apiVersion", ""), obj["kind"])
    if given == served.gvk:
        return intake.decode(request, obj, restored=restored)
    lost = list[str]()
    if (given.group, given.kind) == (served.gvk.group, served.kind):
        if given.version in resource.versions:
            other = request._replace(served=resource.versions[given.version])
            return intake.decode(other, obj, restored=restored)
        lost = sorted(obj.keys() - {"apiVersion", "kind", "metadata"})
    kept = {name: value for name, value in obj.items() if name not in lost}
    made, found, empties = intake.decode(request, kept, restored=restored)
    if lost:
        return made, [*found, *decoding.unquoted_unknown_fields(lost)], empties
    return made, [text for text in found if _OF_METADATA in text], empties


_OF_METADATA = '"metadata.'


def _first_error(request: Request, ordered: Object, error: DecodeError) -> DecodeError:
    """Return the error of the first wrong value in a text with this order, which Go reports.
    `error` is that of any value."""
    try:
        intake.decode(request, ordered)
    except DecodeError as first:
        return first
    return error


def _in_order(request: Request, ordered: Object, unknown: list[str]) -> list[str]:
    """Return the texts for unknown fields in the order of an object."""
    found = intake.decode(request, ordered)[1]
    return found if sorted(found) == sorted(unknown) else unknown
