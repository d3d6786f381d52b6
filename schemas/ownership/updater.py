"""The effect of a write on the field sets of all managers.

`updated` follows merge.Updater.Update for ordinary writes, `applied` merge.Updater.Apply for
server-side apply, both of structured-merge-diff merge/update.go. Sets are decoded
(`fieldsets`). `managedfields` reads and writes the entries of metadata.managedFields.
"""

from collections.abc import Iterable
from typing import NamedTuple

from inkube.schemas.objects import Object
from inkube.schemas.ownership import comparison, fieldsets, typedvalidation
from inkube.schemas.ownership.comparison import UNCHANGED, Comparison
from inkube.schemas.ownership.fieldsets import EMPTY, FieldSet
from inkube.schemas.ownership.listitems import UntypableError
from inkube.schemas.ownership.typed import Steps, TypedSchema, VersionRequest, Versions


class Manager(NamedTuple):
    """The identity of a manager; `api_version` is "" for managers that apply."""

    name: str
    operation: str
    api_version: str
    subresource: str


class Owned(NamedTuple):
    """The fields of one manager, in the version in which it wrote them."""

    fields: FieldSet
    api_version: str
    applied: bool


Owners = dict[Manager, Owned]


class Configuration(NamedTuple):
    """An applied configuration, and the fields that it claims."""

    value: Object
    fields: FieldSet


class Conflict(NamedTuple):
    """One field that another manager owns."""

    manager: Manager
    api_version: str
    path: fieldsets.Path


class ConflictsError(Exception):
    """An apply without force would change fields of other managers."""

    def __init__(self, conflicts: Iterable[Conflict]) -> None:
        super().__init__("conflicts")
        self.conflicts = list(conflicts)


class Unserved(Exception):
    """The built-in kind no longer has the version; its entries are dropped."""


class Updater(NamedTuple):
    """The data about a kind for updates: its type, its other versions, the version of the request.

    `ignored` are the fields that this kind of write resets, so the writer never owns them.
    `subresource` is the address of the write.
    """

    typed: TypedSchema
    api_version: str
    ignored: FieldSet
    versions: Versions | None = None
    subresource: str = ""

    def updated(self, live: Object, new: Object, owners: Owners) -> Steps[tuple[Owners, FieldSet]]:
        """Return the remaining owners after a write from `live` to `new`, and the fields that it
        takes."""
        others = yield from self._reconciled(live, owners)
        change = self.typed.compare(live, new).without(self.ignored)
        others = yield from self._yielded(live, new, change, others)
        taken = fieldsets.union(change.modified, change.added)
        if self.ignored:
            taken = fieldsets.recursive_difference(taken, self.ignored)
        return others, taken

    def applied(
        self, live: Object, config: Configuration, owners: Owners, *, manager: Manager, force: bool
    ) -> Steps[tuple[Object | None, Owners]]:
        """Return the object after an apply (None if it equals `live`), and its owners.

        Raises ConflictsError, and UntypableError if a value does not fit its type.
        """
        owners = yield from self._reconciled(live, owners)
        merged = self.typed.merge(live, config.value)
        fields = config.fields
        last = owners.get(manager)
        if self.ignored:
            fields = fieldsets.recursive_difference(fields, self.ignored)
            if last is not None:
                last_fields = fieldsets.recursive_difference(last.fields, self.ignored)
                last = last._replace(fields=last_fields)
        owners[manager] = Owned(fields, self.api_version, applied=True)
        if last is not None:
            merged = yield from self._pruned(merged, owners, last, fields)
        change = self.typed.compare(live, merged).without(self.ignored)
        others = {other: owned for other, owned in owners.items() if other != manager}
        if not force and change is not UNCHANGED:
            yield from self._refuse_conflicts(live, merged, change, others)
        result = yield from self._yielded(live, merged, change, others)
        if fields:
            result[manager] = owners[manager]
        unchanged = merged is live or comparison.equals(live, merged)
        return (None if unchanged else merged), result

    def _reconciled(self, live: Object, owners: Owners) -> Steps[Owners]:
        """Return the owners with sets adapted to the schemas, without those of unknown versions of
        a built-in kind. Raises UntypableError for unknown versions of a custom resource."""
        result: Owners = {}
        for manager, owned in owners.items():
            try:
                typed, _ = yield from self._fitting(live, owned.api_version, "")
            except Unserved:
                continue
            fields = typed.reconciled(owned.fields)
            result[manager] = owned if fields is owned.fields else owned._replace(fields=fields)
        return result

    def _at(self, obj: Object, api_version: str) -> Steps[tuple[TypedSchema, Object]]:
        """Return the types of a version, and the object in this version. Raises Unserved for an
        unknown version of a built-in kind, and UntypableError for one of a custom resource:
        crConverter of apiextensions-apiserver has no error that structured-merge-diff reads as a
        missing version.
        """
        if self.versions is None:
            return self.typed, obj
        own = api_version == self.api_version
        typed = self.typed if own else self.versions.schemas.get(api_version)
        if typed is None and self.typed.custom:
            raise UntypableError(
                f"request to convert CR to an invalid group/version: {api_version}"
            )
        if typed is None:
            raise Unserved
        if obj.get("apiVersion") == api_version:
            return typed, obj
        return typed, (yield VersionRequest(obj, api_version))

    def _changes(
        self, live: Object, new: Object, change: Comparison, owners: Owners
    ) -> Steps[dict[str, Comparison]]:
        """Return the change in each version of the owners, by apiVersion."""
        seen = {self.api_version: change}
        for owned in owners.values():
            if owned.api_version not in seen:
                version = owned.api_version
                typed, old = yield from self._at(live, version)  # `_reconciled` has checked it
                _, changed = yield from self._fitting(
                    new, version, "failed to convert new object: "
                )
                seen[version] = change
                if self.versions is not None:
                    ignored = self.versions.resets(version, self.subresource)
                    seen[version] = typed.compare(old, changed).without(ignored)
        return seen

    def _fitting(
        self, obj: Object, api_version: str, failure: str
    ) -> Steps[tuple[TypedSchema, Object]]:
        """Return what `_at` returns. Raises UntypableError, with a text after `failure`, also for a
        custom resource that does not fit its type in another version, or repeats elements there."""
        typed, converted = yield from self._at(obj, api_version)
        if typed.custom and typed is not self.typed:
            problems = typed.problems(converted)
            if problems:
                raise UntypableError(failure + typedvalidation.text(problems))
        return typed, converted

    def _refuse_conflicts(
        self, live: Object, new: Object, change: Comparison, others: Owners
    ) -> Steps[None]:
        changes = yield from self._changes(live, new, change, others)
        conflicts = []
        for manager, owned in others.items():
            there = changes[owned.api_version]
            fields = fieldsets.intersection(
                owned.fields, fieldsets.union(there.modified, there.added)
            )
            conflicts += [Conflict(manager, owned.api_version, p) for p in fieldsets.paths(fields)]
        if conflicts:
            raise ConflictsError(conflicts)

    def _yielded(
        self, live: Object, new: Object, change: Comparison, others: Owners
    ) -> Steps[Owners]:
        """Return the other owners without the fields that the write changed, added or removed.

        Owners without fields are dropped.
        """
        if change is UNCHANGED:
            return {manager: owned for manager, owned in others.items() if owned.fields}
        changes = yield from self._changes(live, new, change, others)
        result: Owners = {}
        for manager, owned in others.items():
            there = changes[owned.api_version]
            fields = owned.fields
            for lost in (there.modified, there.added, there.removed):
                if lost and fields:
                    fields = fieldsets.difference(fields, lost)
            if fields:
                result[manager] = owned if fields == owned.fields else owned._replace(fields=fields)
        return result

    def _pruned(
        self, merged: Object, owners: Owners, last: Owned, fields: FieldSet
    ) -> Steps[Object]:
        """`merged` without fields that only the manager's last apply set and no manager owns."""
        if not last.fields:
            return merged
        if last.api_version == self.api_version and not fieldsets.difference(last.fields, fields):
            return merged  # all fields are applied again, so no field is removed
        try:
            failure = (
                "failed to prune fields: failed to convert merged object to last applied version: "
            )
            typed, before = yield from self._fitting(merged, last.api_version, failure)
        except Unserved:
            return merged
        claimed = typed.with_parents(last.fields)
        pruned = typed.remove(before, claimed)
        held = typed.with_parents(typed.owned(before))
        pruned = yield from self._with_owned(
            _VersionedObject(before, held, last.api_version), pruned, owners
        )
        remaining = typed.with_parents(typed.owned(pruned))
        gone = fieldsets.intersection(fieldsets.difference(held, remaining), claimed)
        _, result = yield from self._at(typed.remove(before, gone), self.api_version)
        return result

    def _with_owned(
        self, merged: "_VersionedObject", pruned: Object, owners: Owners
    ) -> Steps[Object]:
        """`pruned` with the removed fields of `merged` that a manager owns, in that version."""
        claims: dict[str, FieldSet] = {merged.api_version: EMPTY}
        for owned in owners.values():
            fields = claims.get(owned.api_version, EMPTY)
            claims[owned.api_version] = fieldsets.union(fields, owned.fields)
        for version, fields in claims.items():
            failure = "failed to prune fields: failed add back owned items: failed to convert {} "
            failure += f"object at version {version}: "
            try:
                typed, whole = yield from self._fitting(
                    merged.value, version, failure.format("merged")
                )
            except Unserved:
                continue
            _, rest = yield from self._fitting(pruned, version, failure.format("pruned"))
            same = whole is merged.value
            held = merged.held if same else typed.with_parents(typed.owned(whole))
            remaining = typed.with_parents(typed.owned(rest))
            remaining = fieldsets.union(remaining, typed.with_parents(fields))
            pruned = typed.remove(whole, fieldsets.difference(held, remaining))
        _, result = yield from self._at(pruned, merged.api_version)
        return result


class _VersionedObject(NamedTuple):
    """An object in one version, and the set of its fields."""

    value: Object
    held: FieldSet
    api_version: str
