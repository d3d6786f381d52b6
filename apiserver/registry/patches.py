"""The changes of PATCH but server-side apply: JSON patch, merge patch, strategic merge patch.

Follows handlers/patch.go: jsonPatcher and smpPatcher.
"""

from typing import Any

from inkube.apiserver.registry import patched
from inkube.apiserver.registry.apply import Apply
from inkube.apiserver.registry.changes import Update
from inkube.apiserver.registry.requests import Patch, Request, Sealed
from inkube.apiserver.registry.scales import SCALE
from inkube.apiserver.registry.write import Write
from inkube.schemas import bodies as decoding
from inkube.schemas import builtin, sealing
from inkube.schemas import patch as rules
from inkube.schemas.golang import gojson, gotext
from inkube.schemas.gotypes import table
from inkube.schemas.meta import GVK
from inkube.schemas.objects import Object


class MergePatch(Update):
    """A JSON merge patch (RFC 7386), and the base of the other patches but apply."""

    __slots__ = ("_patch", "sealed")

    def __init__(self, patch: Patch) -> None:
        super().__init__(patch.size, **self._of_version(patch.value))
        self._patch, self.sealed = patch, patch.sealed

    def compute(self, write: Write) -> Object:
        request = write.request
        old = write.copy_of_old()
        new, unknown = self.applied(request, old)
        if not isinstance(new, dict):
            raise patched.no_object(new)
        if request.resource.definition.has_secrets:
            sealing.note_removed(new, old, self._patch.value)
        return self._accepted(write, old, new, unknown)

    def _accepted(self, write: Write, old: Object, new: Object, unknown: list[str]) -> Object:
        """Return the result of the patch, typed and defaulted. Raises StatusError."""
        shown = patched.PatchedText(write, new, lambda: self._unpacked(old))
        return patched.accept(write, new, self.strict(unknown), shown)

    def _unpacked(self, old: Object) -> "builtin.memberorder.Unpacked":
        """Return the objects that the patch unpacks."""
        return builtin.memberorder.of_merge_patch(old, self._patch.value)

    def text(self, request: Request, old: Object, new: Object, gvk: GVK) -> str:
        """Return what a refusal shows of the patch: the patched object of a Go type."""
        return builtin.memberorder.text(old, new, self._unpacked(old), gvk)

    def applied(self, request: Request, old: Object) -> tuple[Any, list[str]]:
        """Return the patched object, and unknown fields of the patch's operations. `old` does not
        change. Raises StatusError."""
        return rules.merge(old, self._patch.value), []

    def strict(self, unknown: list[str]) -> list[str]:
        """Return the strict errors of the patch itself."""
        return self._patch.duplicates

    def _of_version(self, body: Any) -> dict[str, bool]:
        """Return whether the patch sets the resourceVersion, so that a lost race is a conflict
        (`names_version`), and whether its result can depend on the stored one
        (`reads_version`)."""
        meta = body.get("metadata") if isinstance(body, dict) else None
        return {"names_version": isinstance(meta, dict) and bool(meta.get("resourceVersion"))}


class StrategicPatch(MergePatch):
    """A strategic merge patch, by the patch strategies of Go types."""

    __slots__ = ()

    def applied(self, request: Request, old: Object) -> tuple[Object, list[str]]:
        return rules.strategic(old, self._patch.value, _schema_of(request)), []

    def text(self, request: Request, old: Object, new: Object, gvk: GVK) -> str:
        """Return what the merge has left of the patch."""
        return gotext.plain(rules.remainder(old, self._patch.value, _schema_of(request)))

    def _accepted(self, write: Write, old: Object, new: Object, unknown: list[str]) -> Object:
        def remainder() -> str:
            return self.text(write.request, old, new, write.request.served.gvk)

        return patched.accept(write, new, self.strict(unknown), patched.Remainder(remainder))


def _schema_of(request: Request) -> Object:
    """Return the schema with the patch strategies of the objects of a request."""
    is_scale = request.subresource == "scale"
    return table.schema(SCALE) if is_scale else request.served.version.schema


class JsonPatch(MergePatch):
    """A JSON patch (RFC 6902)."""

    __slots__ = ()

    def applied(self, request: Request, old: Object) -> tuple[Any, list[str]]:
        checks_members = request.options.validation != "Ignore"
        return rules.apply_json_patch(old, self._patch.value, checks_members=checks_members)

    def _unpacked(self, old: Object) -> "builtin.memberorder.Unpacked":
        return builtin.memberorder.of_json_patch(self._patch.value)

    def strict(self, unknown: list[str]) -> list[str]:
        text = self._patch.text.encode()
        found = decoding.in_document_order(text, self._patch.duplicates, unknown)
        return [f"json patch {each}" for each in found]

    def _of_version(self, body: Any) -> dict[str, bool]:
        if not isinstance(body, list):
            return {"names_version": False, "reads_version": True}
        named = read = False
        for step in body:  # there can be 10,000 operations, so the loop calls no functions
            if step.__class__ is not dict:
                continue
            if "path" in step and step["path"] in _WITH_VERSION:
                read = True
                named = named or step["path"] == _VERSION
            if "from" in step and step["from"] in _WITH_VERSION:
                read = True
        return {"names_version": named, "reads_version": read}


_VERSION = "/metadata/resourceVersion"
_WITH_VERSION = ("", "/metadata", _VERSION)
KINDS = {"json": JsonPatch, "merge": MergePatch, "strategic": StrategicPatch}


def of(request: Request, kind: str, patch: Patch) -> Update:
    """Return the change of a decoded PATCH. Raises StatusError 400."""
    if kind != "apply":
        if request.resource.definition.has_secrets:
            patch = _sealed(kind, patch)
        if kind != "strategic" and request.resource.wording.has_messages:
            patch = _with_number_texts(patch)
        return KINDS[kind](patch)
    return Apply(request, patch)


def _with_number_texts(patch: Patch) -> Patch:
    """Return the document with unusual numbers as it writes them: upstream patches texts, and Go
    types decode the result."""
    body = patch.text.encode()
    if not gojson.may_hold_texts(body):
        return patch
    return patch._replace(value=gojson.loads(body, texts=True))


def _sealed(kind: str, patch: Patch) -> Patch:
    """Return the document with sealed values, also in its text."""
    value, sealed = patch.value, Sealed()
    if kind == "json":
        value = sealing.seal_json_patch(value, sealed)
    elif isinstance(value, dict):
        value = dict(value)
        sealing.seal(value, sealed)
    text = gotext.compact_json(value) if patch.text else ""
    return patch._replace(value=value, text=text, sealed=sealed)
