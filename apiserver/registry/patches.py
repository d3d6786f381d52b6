"""The changes of PATCH: JSON patch, merge patch, strategic merge patch, server-side apply.

Follows handlers/patch.go: jsonPatcher, smpPatcher and applyPatcher.
"""

from typing import Any, NamedTuple

from inkube.apiserver.registry import intake, ownership, patched
from inkube.apiserver.registry.changes import Update
from inkube.apiserver.registry.requests import NOTHING_SEALED, Request, Sealed
from inkube.apiserver.registry.write import Write
from inkube.schemas import bodies as decoding
from inkube.schemas import builtin, sealing, status
from inkube.schemas import patch as rules
from inkube.schemas.golang import DecodeError, gojson, gotext
from inkube.schemas.objects import Empty, Object
from inkube.schemas.ownership import Steps
from inkube.schemas.ownership import apply as apply_rules


class Patch(NamedTuple):
    """A patch document, the errors for its duplicate keys, its text and its size in bytes."""

    value: Any
    duplicates: list[str]
    text: str = ""
    size: int = 0
    sealed: Sealed = NOTHING_SEALED


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
            raise status.bad_request("a patch must leave an object")
        if request.resource.definition.has_secrets:
            sealing.note_removed(new, old, self._patch.value)
        return self._accepted(write, old, new, unknown)

    def _accepted(self, write: Write, old: Object, new: Object, unknown: list[str]) -> Object:
        """Return the result of the patch, typed and defaulted. Raises StatusError."""
        strict = self._strict(unknown)
        return patched.accept(write, new, strict, unpacked=lambda: self._unpacked(old))

    def _unpacked(self, old: Object) -> "builtin.memberorder.Unpacked":
        """Return the objects that the patch unpacks."""
        return builtin.memberorder.of_merge_patch(old, self._patch.value)

    def applied(self, request: Request, old: Object) -> tuple[Object, list[str]]:
        """Return the patched object, and unknown fields of the patch's operations. `old` does not
        change. Raises StatusError."""
        return rules.merge(old, self._patch.value), []

    def _strict(self, unknown: list[str]) -> list[str]:
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
        return rules.strategic(old, self._patch.value, request.served.version.schema), []

    def _accepted(self, write: Write, old: Object, new: Object, unknown: list[str]) -> Object:
        patch, schema = self._patch.value, write.request.served.version.schema

        def remainder() -> str:
            return gotext.plain(rules.remainder(old, patch, schema))

        return patched.accept(write, new, self._strict(unknown), remainder=remainder)


class JsonPatch(MergePatch):
    """A JSON patch (RFC 6902)."""

    __slots__ = ()

    def applied(self, request: Request, old: Object) -> tuple[Object, list[str]]:
        checks_members = request.options.validation != "Ignore"
        return rules.apply_json_patch(old, self._patch.value, checks_members=checks_members)

    def _unpacked(self, old: Object) -> "builtin.memberorder.Unpacked":
        return builtin.memberorder.of_json_patch(self._patch.value)

    def _strict(self, unknown: list[str]) -> list[str]:
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


class Apply(Update):
    """Server-side apply, which records the owners of fields together with the fields.

    Raises StatusError 400 for invalid metadata. The checks have the order of applyPatcher and
    patcher.applyPatch.
    """

    __slots__ = ("_body", "creates", "sealed")
    keeps_owners = True
    sets_undeclared = True  # those of a declared struct in one that preserves unknown fields

    def __init__(self, request: Request, patch: Patch) -> None:
        body, self.sealed = patch.value, Sealed()
        if request.resource.definition.has_secrets:
            sealing.seal(body, self.sealed)
        if body.get("metadata") is None:
            body["metadata"] = {}
        meta = body["metadata"]  # an apply refuses other values, as each wrong type
        names_version = isinstance(meta, dict) and bool(meta.get("resourceVersion"))
        super().__init__(patch.size, names_version=names_version)
        self._body = body
        definition = request.resource.definition
        relaxed = definition.create_on_update and definition.relaxed_subresources
        self.creates = not request.subresource or relaxed

    async def make(self, write: Write) -> Object:
        return await write.finish(self._steps(write))

    def _steps(self, write: Write) -> Steps[Object]:
        request = write.request
        merged, is_changed = yield from apply_rules.steps(
            write.old,
            self._body,
            typed=request.served.typed,
            writer=ownership.writer(write),
            force=request.options.force,
            versions=ownership.versions(request.resource),
            may_not_fit=ownership.may_not_fit(request.resource, write.old),
        )
        write.owners = "recorded"
        try:
            found: list[Empty] = []
            made = merged
            # an unchanged custom resource gets no defaults of the request's version, which the
            # stored object lacks if it is stored in another one (structuredmerge.go, Apply)
            if is_changed or not request.served.typed.custom:
                made = request.resource.decode(request.served, made, None, found, restored=True)
        except DecodeError as error:
            raise _not_converted(request, self._body, error) from error
        write.empties = found
        uid = made["metadata"].get("uid")
        if uid and write.old is None:
            raise _uid_without_object(write, uid)
        # as upstream, names are checked only after the merge
        intake.check_namespace(request, made)
        intake.check_name(request, made)
        return made


def of(request: Request, kind: str, patch: Patch) -> Update:
    """Return the change of a decoded PATCH. Raises StatusError 400."""
    if kind != "apply":
        if request.resource.definition.has_secrets:
            patch = _sealed(kind, patch)
        if kind != "strategic" and request.resource.wording.has_messages:
            patch = _with_number_texts(patch)
        return KINDS[kind](patch)
    if request.options.validation != "Ignore":
        for text in patch.duplicates:
            request.warn(text)
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


def _not_converted(request: Request, body: Object, error: DecodeError) -> status.StatusError:
    """Return the error 500 for an applied object that has the right types, but a value that its
    decoder refuses (structuredmerge.go, Apply)."""
    kind = f"{request.resource.group}/{request.served.version.name}, Kind={request.served.kind}"
    meta = body.get("metadata") or {}
    place = f"{meta.get('namespace') or ''}/{meta.get('name') or ''}"
    return status.unknown(
        f"failed to convert new object ({place}; {kind}) to proper version: unable to convert "
        f"unstructured object to {kind}: {error.text}"
    )


def _uid_without_object(write: Write, uid: str) -> status.StatusError:
    """Return the error 409 for an apply that names a uid although no object is stored."""
    why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
    resource = write.request.resource
    return status.conflict(resource.group, resource.plural, write.name, why)
