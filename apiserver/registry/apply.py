"""The change of a server-side apply, which follows applyPatcher of handlers/patch.go."""

from inkube.apiserver.registry import intake, ownership
from inkube.apiserver.registry.changes import Update
from inkube.apiserver.registry.requests import Patch, Request, Sealed
from inkube.apiserver.registry.write import Write
from inkube.schemas import bodies, sealing, status
from inkube.schemas.golang import DecodeError
from inkube.schemas.objects import Empty, Object
from inkube.schemas.ownership import Steps
from inkube.schemas.ownership import apply as apply_rules


class Apply(Update):
    """Server-side apply, which records the owners of fields together with the fields.

    Raises StatusError 400 for invalid metadata. The checks have the order of applyPatcher and
    patcher.applyPatch.
    """

    __slots__ = ("_body", "_duplicates", "creates", "sealed")
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
        self._body, self._duplicates = body, patch.duplicates
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
        report_repeated(write, self._duplicates)
        uid = made["metadata"].get("uid")
        if uid and write.old is None:
            raise _uid_without_object(write, uid)
        # as upstream, names are checked only after the merge
        intake.check_namespace(request, made)
        intake.check_name(request, made)
        return made


def report_repeated(write: Write, duplicates: list[str]) -> None:
    """Warn about the keys that the YAML of an apply repeats, or refuse them under Strict. Called
    after the merge, whose errors come first. Raises StatusError 400."""
    validation = write.request.options.validation
    if duplicates and validation == "Strict":
        text = bodies.yaml_error(duplicates)
        raise status.bad_request(
            f"error strict decoding YAML: error converting YAML to JSON: {text}"
        )
    if validation != "Ignore":
        for text in duplicates:
            write.warn(text)


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
