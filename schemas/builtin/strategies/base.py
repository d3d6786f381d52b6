"""The behavior of a built-in kind in addition to its definition, as pure functions.

Hooks change the object in place. They read no other data and store no data. Objects have passed
`decoding`: their members have the types of the schema, and values that Go would omit are missing.
Hooks must preserve this.
"""

from inkube.schemas.builtin import decoding, metadata, rules
from inkube.schemas.builtin.rules import UNCHECKED, MetadataChecks
from inkube.schemas.builtin.strategies import statuses
from inkube.schemas.definitions import Definition
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.lazyproperty import cached_property
from inkube.schemas.metadata import names, objectmeta
from inkube.schemas.objects import Object, same, semantically_same
from inkube.schemas.strategy import Context, Strategy

_FIRST = ("name", "generateName", "namespace", "uid")


class BuiltinStrategy(Strategy):
    """The behavior of most kinds: a separate status, and a generation if the kind has one.

    A kind with other behavior overrides `check*`, which read only the object (new, or changed by a
    write to it or to a subresource), and `prepare_for_create`, `prepare_object`, `prepare_status`
    and `prepare_part`.
    """

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        self.gvk = definition.gvk(definition.storage_version.name)

    @cached_property
    def rules(self) -> "rules.Rulebook":
        """The rules of the table for the definition's minor version."""
        return rules.book(self.definition.minor)

    def default(self, obj: Object) -> None:
        self.rules.defaults(obj, self.gvk)

    def prepare_for_create(self, context: Context, obj: Object) -> None:
        """Remove the fields that a create must not set: the status, and fields with disabled gates.
        The generation starts at 1."""
        self.rules.drop_disabled(obj, self.gvk)
        if self.definition.generation is not None:
            obj["metadata"]["generation"] = 1
        if self.definition.storage_version.status:
            self._reset_status(obj)

    def prepare_for_update(self, context: Context, obj: Object, old: Object) -> None:
        """Prepare a write to the object, to /status or to another subresource."""
        if not context.subresource:
            self.prepare_object(context, obj, old)
        elif context.subresource == "status":
            self.prepare_status(context, obj, old)
        else:
            self.prepare_part(context, obj, old)

    def prepare_object(self, context: Context, obj: Object, old: Object) -> None:
        """Keep the old status. Increase the generation if a counted member changed."""
        self.rules.drop_disabled(obj, self.gvk, old)
        if self.definition.storage_version.status:
            keep(obj, old, "status")
        self.count(obj, old)

    def count(self, obj: Object, old: Object) -> None:
        """Increase the generation if a counted member differs from the old one."""
        equal = same if self.definition.counts_empty else semantically_same
        for path in self.definition.generation or ():
            part, _, member = path.rpartition(".")
            new, before = (obj[part], old[part]) if part else (obj, old)
            if not equal(new.get(member), before.get(member)):
                obj["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def prepare_status(self, context: Context, obj: Object, old: Object) -> None:
        """Prepare a write to /status: keep all members except the status and metadata, and the
        metadata that the kind protects."""
        for member in [*old, *obj]:
            if member not in ("status", "metadata"):
                keep(obj, old, member)
        group, plural = self._place
        statuses.keep_metadata(group, plural, obj["metadata"], old["metadata"])

    def prepare_part(self, context: Context, obj: Object, old: Object) -> None:
        """Prepare a write to a subresource other than /status."""
        self.prepare_object(context, obj, old)

    def validate(self, context: Context, obj: Object) -> list[FieldError]:
        """Return the errors of a new object: those of its metadata, then those of `check`."""
        if metadata.is_validated_last(*self._place):
            return self.check(obj) or self._check_metadata(obj["metadata"])
        errors = self._check_metadata(obj["metadata"]) + self.check(obj)
        if not errors and self.definition.name_check == "generated":
            errors += self._check_path_segments(obj["metadata"])
        return errors

    def validate_update(self, context: Context, obj: Object, old: Object) -> list[FieldError]:
        """Return the errors of a changed object: those of rest.BeforeUpdate for its metadata, then
        those of the check for the object or the subresource."""
        subresource = context.subresource
        meta = self._metadata(obj, old)
        errors = [
            *self._check_path_segments(obj["metadata"]),
            *objectmeta.validate_changes(obj["metadata"], old["metadata"]),
        ]
        if not subresource:
            if self.definition.revalidates:
                errors += meta.metadata() + self.check(obj)
            return errors + self.check_update(obj, old, meta)
        if subresource == "status":
            if metadata.compares_on_status(*self._place):
                errors += meta.changes()
            return errors + self.check_status(obj, old)
        return errors + meta.changes() + self.check_part(subresource, obj, old)

    def _metadata(self, obj: Object, old: Object) -> MetadataChecks:
        new, before = obj["metadata"], old["metadata"]

        def changes() -> list[FieldError]:
            found = objectmeta.validate_changes(new, before)
            return [*found, *metadata.unqualified(*self._place, new)]

        return MetadataChecks(lambda: self._check_metadata(new), changes)

    def check(self, obj: Object) -> list[FieldError]:
        """Return the errors of the object, for creates and updates."""
        return self.rules.of_object(obj, self.gvk)

    def check_update(
        self, obj: Object, old: Object, meta: MetadataChecks = UNCHECKED
    ) -> list[FieldError]:
        """Return the errors of an update of the object, in the order of upstream's function.
        `meta` checks its metadata."""
        return self.rules.update_errors(obj, self.gvk, old, meta)

    def check_status(self, obj: Object, old: Object) -> list[FieldError]:
        """Return the errors of a write to /status."""
        return self.rules.part_errors(obj, self.gvk, old, "status")

    def check_part(self, name: str, obj: Object, old: Object) -> list[FieldError]:
        """Return the errors of a write to a subresource other than /status."""
        return self.rules.part_errors(obj, self.gvk, old, name)

    def warnings_on_create(self, context: Context, obj: Object) -> list[str]:
        return self.rules.warnings(obj, self.gvk, None)

    def warnings_on_update(self, context: Context, obj: Object, old: Object) -> list[str]:
        """Return the warnings about an update. Most kinds give none about their status."""
        if context.subresource == "status":
            return self.rules.warnings(obj, self.gvk, old, "status-warnings")
        return self.rules.warnings(obj, self.gvk, old)

    def canonicalize(self, obj: Object) -> None:
        """Put the members that Go writes first at the beginning of the metadata."""
        meta = obj["metadata"]
        first = {member: meta[member] for member in _FIRST if member in meta}
        obj["metadata"] = {**first, **meta}

    @property
    def _place(self) -> tuple[str, str]:
        return self.definition.group, self.definition.names.plural

    def _check_path_segments(self, meta: Object) -> list[FieldError]:
        """Return the errors of rest.BeforeCreate and rest.BeforeUpdate."""
        namespaced = self.definition.namespaced
        return objectmeta.validate(meta, namespaced=namespaced, name_check=names.path_segment)

    def _check_metadata(self, meta: Object) -> list[FieldError]:
        definition = self.definition
        errors = metadata.validate(
            meta, namespaced=definition.namespaced, check=definition.name_check
        )
        return errors + metadata.unqualified(*self._place, meta)

    def _reset_status(self, obj: Object) -> None:
        zero = decoding.zero(self.gvk, "status", self.definition.minor)
        if zero is None:
            obj.pop("status", None)
        else:
            obj["status"] = zero


def reset_metadata(obj: Object, old: Object) -> None:
    """Restore metadata that a write to a subresource must not change, in place
    (metav1.ResetObjectMetaForStatus)."""
    for member in (
        "deletionTimestamp", "generation", "selfLink", "labels", "annotations", "finalizers",
        "ownerReferences",
    ):  # fmt: skip
        keep(obj["metadata"], old["metadata"], member)


def keep(obj: Object, old: Object, member: str) -> None:
    """Set a member to its old value, or remove it if the old object does not have it."""
    if member in old:
        obj[member] = old[member]
    else:
        obj.pop(member, None)
