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


class PatchedText:
    """The text of a patched object, as refusals show it. The errors of a JSON or merge patch have
    its order: upstream decodes it (jsonPatcher)."""

    is_decoded = True
    """Whether upstream decodes the object from a text; else it is restored from a map."""

    def __init__(
        self, write: Write, obj: Object, unpacked: "Callable[[], builtin.memberorder.Unpacked]"
    ) -> None:
        """`unpacked` returns the objects that the patch unpacks."""
        self._write = write
        self._unpacked = unpacked
        self._text = gojson.written(obj)  # decoding changes the object

    def text(self) -> str:
        """Return the text that refusals show."""
        if not self._write.request.resource.wording.has_messages:
            return gotext.compact_json(self._ordered())
        return gotext.escaped_html(gojson.written(self._ordered()).decode())

    def first(self, error: DecodeError) -> DecodeError:
        """Return the error of the first wrong value, which Go reports. `error` is that of any."""
        try:
            intake.decode(self._write.request, self._ordered())
        except DecodeError as first:
            return first
        return error

    def in_order(self, unknown: list[str]) -> list[str]:
        """Return the texts for unknown fields in the order of the object."""
        found = intake.decode(self._write.request, self._ordered())[1]
        return found if sorted(found) == sorted(unknown) else unknown

    def _ordered(self) -> Object:
        """Return the object with its members in the order of upstream's text."""
        value: Object = gojson.loads(self._text, texts=True)
        request, old = self._write.request, self._write.old
        if not request.resource.wording.has_messages or old is None:
            return value
        ordered: Object = builtin.memberorder.patched(
            old, value, self._unpacked(), request.served.gvk
        )
        return ordered


class Remainder:
    """What the merge has left of a strategic patch, as refusals show it. The merged map is restored
    (smpPatcher), and unknown fields are sorted by their texts (converter.go,
    FromUnstructuredWithValidation)."""

    is_decoded = False

    def __init__(self, text: Callable[[], str]) -> None:
        self.text = text

    def first(self, error: DecodeError) -> DecodeError:
        """Return the error: it is that of the first value in the order of Go's structs."""
        return error

    def in_order(self, unknown: list[str]) -> list[str]:
        """Return the texts for unknown fields, sorted."""
        return sorted(unknown)


def accept(
    write: Write, obj: Object, of_patch: list[str], shown: PatchedText | Remainder
) -> Object:
    """Type, prune and default the result of a patch, and return it. `of_patch` are the strict
    errors of the patch itself. Raises StatusError 422."""
    request = write.request
    try:
        of_type = _settle_type(request, obj, by_text=shown.is_decoded)
    except DecodeError as error:
        raise patch_refusal(shown.text(), error.text) from error
    try:
        obj, found, write.empties = _decode(request, obj, restored=not shown.is_decoded)
    except DecodeError as error:
        raise patch_refusal(shown.text(), shown.first(error).text) from error
    if len(found) > 1 and request.resource.wording.has_messages:
        found = shown.in_order(found)
    found = [*of_type, *found]
    strict = [] if request.options.validation == "Ignore" else [*of_patch, *found]
    if strict and request.options.validation == "Strict":
        raise patch_refusal(shown.text(), decoding.strict_text(strict))
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
