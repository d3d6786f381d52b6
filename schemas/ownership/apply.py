"""Server-side apply: a configuration merged into an object, with ownership of every field.

Follows apimachinery pkg/util/managedfields internal/structuredmerge.go, lastapplied.go,
lastappliedupdater.go, skipnonapplied.go, versioncheck.go and conflict.go. Defaulting, pruning,
validation and preconditions come after, in the registry.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import orjson

from inkube.schemas import status
from inkube.schemas.golang import gotext
from inkube.schemas.meta import canonical_api_version, split_api_version
from inkube.schemas.objects import Object
from inkube.schemas.ownership import fieldsets, managedfields, typedvalidation
from inkube.schemas.ownership.fieldsets import FieldSet
from inkube.schemas.ownership.listitems import UntypableError
from inkube.schemas.ownership.managedfields import APPLY, Managed, Writer
from inkube.schemas.ownership.typed import Steps, TypedSchema, Versions, finished, relabelled
from inkube.schemas.ownership.typedvalidation import Problem
from inkube.schemas.ownership.updater import (
    Configuration,
    Conflict,
    ConflictsError,
    Manager,
)

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
BEFORE_FIRST_APPLY = "before-first-apply"
KUBECTL = "kubectl"  # the manager whose client-side annotation counts
_MAX_ANNOTATIONS = 256 * 1024  # bytes of all annotations together


def apply(
    live: Object | None,
    patch: Object,
    *,
    typed: TypedSchema,
    writer: Writer,
    force: bool = False,
    versions: Versions | None = None,
    may_not_fit: bool = False,
) -> Object:
    """`steps` with conversions that need no waiting."""
    convert = versions.convert if versions else relabelled
    work = steps(
        live,
        patch,
        typed=typed,
        writer=writer,
        force=force,
        versions=versions,
        may_not_fit=may_not_fit,
    )
    applied, _ = finished(work, convert)
    return applied


def steps(
    live: Object | None,
    patch: Object,
    *,
    typed: TypedSchema,
    writer: Writer,
    force: bool = False,
    versions: Versions | None = None,
    may_not_fit: bool = False,
) -> Steps[tuple[Object, bool]]:
    """Return the object after `patch` is applied, with its managedFields, and whether the patch
    changed it; `live` is None on create.

    Both objects are in the version of the request and are not changed; the result shares no parts
    with them. If nothing changes, the result equals `live`, except for new shared owners.
    `may_not_fit` means that `live` was stored before the schema or in another version.
    Raises StatusError: 400 for a patch of another version or with managedFields, 409 with a cause
    per conflicting field, 500 for a patch that cannot be typed.
    """
    _check_request(patch, live, writer)
    before = managedfields.bare(live) if live else _empty(patch)
    old = ((live or {}).get("metadata") or {}).get("managedFields")
    managed = managedfields.decode(old, trusted=True)
    request = _Apply(before, patch, typed, writer, versions)
    if not managed.owners and live is not None:
        yield from request.adopt(managed)
    request.configure()
    if may_not_fit:
        request.check_live()
    merged = yield from request.run(managed, force=force)
    result: Object = orjson.loads(orjson.dumps(before if merged is None else merged))
    if writer.manager == KUBECTL:
        _sync_last_applied(result, patch)
    entries = managedfields.encode(managed, old=old)
    if entries:
        result.setdefault("metadata", {})["managedFields"] = orjson.loads(orjson.dumps(entries))
    return result, merged is not None


def _empty(patch: Object) -> Object:
    return {"apiVersion": patch.get("apiVersion"), "kind": patch.get("kind")}


def _check_request(patch: Object, live: Object | None, writer: Writer) -> None:
    kind = writer.kind or (live or patch).get("kind", "")
    version = canonical_api_version(_text(patch, "apiVersion"))
    if version != writer.api_version or patch.get("kind") != kind:
        raise status.bad_request(f"invalid object type: {_gvk(patch)}")
    metadata = patch.get("metadata")
    if isinstance(metadata, dict) and metadata.get("managedFields") is not None:
        raise status.bad_request("metadata.managedFields must be nil")


class _Apply:
    """One apply: the objects, their types, and the manager."""

    def __init__(
        self,
        live: Object,
        patch: Object,
        typed: TypedSchema,
        writer: Writer,
        versions: Versions | None,
    ) -> None:
        self.live, self.patch, self.typed = live, patch, typed
        self.writer, self.versions = writer, versions
        self.manager = writer.identity(APPLY)
        self.config: Configuration

    def configure(self) -> None:
        """Find the fields that the patch claims. Before that, `adopt` checks the stored object.

        Raises StatusError 500 if the patch cannot be typed or has duplicates.
        """
        try:
            self.config = Configuration(self.patch, self.typed.owned(self.patch, strict=True))
        except UntypableError as error:
            raise _untypable("patch", self.patch, self.typed.problems(self.patch)) from error

    def adopt(self, managed: Managed) -> Steps[None]:
        """Make `before-first-apply` the owner of all fields before the first apply of an object."""
        writer = self.writer._replace(manager=BEFORE_FIRST_APPLY)
        problems = self.typed.problems(self.live, duplicates=False)
        if problems:
            raise status.unknown(
                "failed to create manager for existing fields: failed to convert new object"
                f" ({where(self.live)}) to smd typed: {typedvalidation.text(problems)}"
            )
        with self._typed():
            yield from managedfields.update(
                managed,
                {**self.typed.empty, **_empty(self.live)},
                self.live,
                typed=self.typed,
                writer=writer,
                versions=self.versions,
            )

    def check_live(self) -> None:
        """Raises StatusError 500 if the stored object does not fit its type."""
        problems = self.typed.problems(self.live, duplicates=False)
        if problems:
            raise _untypable("live", self.live, problems)

    def run(self, managed: Managed, *, force: bool) -> Steps[Object | None]:
        """Apply, and update `managed`; returns the new object, None if it does not change.

        Raises StatusError 409 for conflicts.
        """
        try:
            merged = yield from self._once(managed, force=force)
        except ConflictsError as error:
            conflicts = error.conflicts
            if self.writer.manager == KUBECTL:
                conflicts = self._unforgiven(conflicts)
            if conflicts:
                raise _conflict(conflicts) from None
            merged = yield from self._once(managed, force=True)
        if merged is not None:
            managed.times[self.manager] = self.writer.time
        return merged

    def _once(self, managed: Managed, *, force: bool) -> Steps[Object | None]:
        updater = self.writer.updater(self.typed, self.versions)
        with self._typed():
            merged, owners = yield from updater.applied(
                self.live, self.config, managed.owners, manager=self.manager, force=force
            )
        own = owners.get(self.manager)
        if own is not None:
            fields = fieldsets.difference(own.fields, managedfields.STRIPPED)
            owners[self.manager] = own._replace(fields=fields)
            if not fields:
                del owners[self.manager]
        managed.owners = owners
        return merged

    @contextmanager
    def _typed(self) -> Iterator[None]:
        """Convert an UntypableError to the StatusError of kube-apiserver."""
        try:
            yield
        except UntypableError as error:
            self.check_live()
            raise status.unknown(str(error)) from error

    def _unforgiven(self, conflicts: list[Conflict]) -> list[Conflict]:
        """Return the conflicts with fields that the last client-side apply did not set."""
        allowed = self._last_applied()
        return [conflict for conflict in conflicts if not fieldsets.has(allowed, conflict.path)]

    def _last_applied(self) -> FieldSet:
        """Return fields of the client-side configuration that are unchanged in the live object."""
        annotations = (self.live.get("metadata") or {}).get("annotations") or {}
        try:
            config = json.loads(annotations.get(LAST_APPLIED) or "")
        except (ValueError, RecursionError):
            return {}
        if not isinstance(config, dict) or config.get("apiVersion") != self.writer.api_version:
            return {}
        if self.typed.problems(config) or self.typed.problems(self.live):
            return {}
        fields = self.typed.owned(config)
        for changed in self.typed.compare(config, self.live):
            fields = fieldsets.difference(fields, changed)
        return fields


def _untypable(which: str, obj: Object, problems: list[Problem]) -> status.StatusError:
    text = typedvalidation.text(problems)
    return status.unknown(f"failed to create typed {which} object ({where(obj)}): {text}")


def _conflict(conflicts: list[Conflict]) -> status.StatusError:
    """409 with a cause per field and the texts of conflict.go."""
    causes = []
    lines: dict[Manager, list[str]] = {}
    for conflict in conflicts:
        field = fieldsets.show(conflict.path)
        causes.append(
            {
                "reason": "FieldManagerConflict",
                "message": f"conflict with {_named(conflict)}",
                "field": field,
            }
        )
        lines.setdefault(conflict.manager, []).append(f"- {field}")
    if len(conflicts) == 1:
        cause = causes[0]
        return status.apply_conflict(
            causes, f"Apply failed with 1 conflict: {cause['message']}: {cause['field']}"
        )
    by_manager = {conflict.manager: _named(conflict) for conflict in conflicts}
    text = "\n".join(
        "\n".join([f"conflicts with {by_manager[manager]}:", *lines[manager]])
        for manager in sorted(lines)
    )
    return status.apply_conflict(causes, f"Apply failed with {len(conflicts)} conflicts: {text}")


def _named(conflict: Conflict) -> str:
    manager = conflict.manager
    text = gotext.quote(manager.name)
    if manager.subresource:
        text += f" with subresource {gotext.quote(manager.subresource)}"
    return text if manager.operation == APPLY else f"{text} using {manager.api_version}"


def _sync_last_applied(result: Object, patch: Object) -> None:
    """Update the annotation of client-side apply if the object has it (lastappliedupdater.go)."""
    annotations = (result.get("metadata") or {}).get("annotations")
    if not isinstance(annotations, dict) or not annotations.get(LAST_APPLIED):
        return
    metadata = dict(patch.get("metadata") or {})
    others = dict(metadata.get("annotations") or {})
    others.pop(LAST_APPLIED, None)
    if "annotations" in metadata:
        metadata["annotations"] = others
    annotations[LAST_APPLIED] = gotext.compact_json({**patch, "metadata": metadata}) + "\n"
    size = sum(len(f"{name}{value}".encode()) for name, value in annotations.items())
    if size > _MAX_ANNOTATIONS:
        del annotations[LAST_APPLIED]


def where(obj: Object) -> str:
    """Return the object as `namespace/name; group/version, Kind=K`."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        metadata = {}
    return f"{_text(metadata, 'namespace')}/{_text(metadata, 'name')}; {_gvk(obj)}"


def _gvk(obj: Object) -> str:
    api_version = canonical_api_version(_text(obj, "apiVersion"))
    if api_version == "/":
        return "/, Kind="
    group, version = split_api_version(api_version)
    return f"{group}/{version}, Kind={_text(obj, 'kind')}"


def _text(obj: Object, member: str) -> str:
    """Return a member as unstructured's getters return it: "" if it is not a string."""
    value = obj.get(member)
    return value if isinstance(value, str) else ""
