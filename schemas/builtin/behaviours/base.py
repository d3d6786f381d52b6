"""Behaviour: what one built-in kind does that its data does not say, as pure functions.

The registry calls the hooks in this order: `default` on every decoded body, `prepare_*` before
validation, `validate*`, `warnings`. Hooks change the object in place, look at nothing else and
store nothing. Objects have passed `decoding`, so their members have the types of the schema and
nothing stands there that Go would leave out; a later hook keeps it so.
"""

from typing import Any, Literal, NamedTuple

from inkube.schemas import objects
from inkube.schemas.builtin import decoding, rules
from inkube.schemas.builtin.behaviours import metadata, statuses
from inkube.schemas.builtin.resources import Resource
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.meta import GVK
from inkube.schemas.metadata import names, objectmeta
from inkube.schemas.objects import Object


class Stamp(NamedTuple):
    """When a write is made, and by whom. `now` is RFC 3339."""

    now: str
    name: str
    uid: str
    groups: tuple[str, ...]
    extra: tuple[tuple[str, tuple[str, ...]], ...]


class Behaviour:
    """The base does what most kinds do: status apart from the rest, generation if there is one."""

    name_check = "subdomain"
    """How names look: `subdomain`, `label`, `label1035`, `path` (RBAC) or `any`."""
    create_on_update = False
    """Whether PUT of a missing object creates it."""
    unconditional_update = True
    """Whether PUT may leave out the resourceVersion."""
    returns_deleted = False
    """Whether DELETE answers the object instead of a Status."""
    deletes_itself = False
    """Whether `prepare_delete` does something; preconditions read differently then."""
    dependents: Literal["delete", "orphan", "ignore"] = "delete"
    """What becomes of dependents when a DELETE does not say; `ignore`: it cannot be asked for."""
    undecided_warning = ""
    """What a DELETE that says nothing about dependents is warned of."""
    generation: tuple[str, ...] | None = None
    """Which members count the generation; () keeps it at 1, None means that the kind has none."""

    tells_empty: tuple[str, ...] = ()
    """Lists (`spec.a.b`) that mean another thing when they are empty than when they are missing."""
    named_by_uid = False
    """Whether a new object without a name gets a uid for one."""
    stamps = False
    """Whether `stamp` does something."""
    internal_group: str | None = None
    """The group 422s name, where one object has two APIs and this is not the stored one."""

    def __init__(self, resource: Resource) -> None:
        self.resource = resource
        self.gvk = GVK(resource.group, resource.stored, resource.kind)
        self.error_group = resource.group if self.internal_group is None else self.internal_group
        self.has_status = any(sub.name == "status" for sub in resource.subresources)

    def default(self, obj: Object) -> None:
        """Fill in what the kind's defaulting functions fill in."""
        rules.defaults(obj, self.gvk)

    def prepare_create(self, obj: Object) -> None:
        """Drop what a create may not set: the status, and fields whose gate is off. The generation
        begins at 1."""
        rules.drop_disabled(obj, self.gvk)
        if self.generation is not None:
            obj["metadata"]["generation"] = 1
        if self.has_status:
            self._reset_status(obj)

    def prepare_update(self, obj: Object, old: Object) -> None:
        """Keep the old status; count the generation when its members changed."""
        rules.drop_disabled(obj, self.gvk, old)
        if self.has_status:
            keep(obj, old, "status")
        if self.generation and any(
            not same(obj.get(member), old.get(member)) for member in self.generation
        ):
            obj["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def prepare_status(self, obj: Object, old: Object) -> None:
        """A write to /status keeps everything but the status and plain metadata."""
        for member in [*old, *obj]:
            if member not in ("status", "metadata"):
                keep(obj, old, member)
        group, plural = self.resource.group, self.resource.plural
        statuses.keep_metadata(group, plural, obj["metadata"], old["metadata"])

    def prepare_part(self, name: str, obj: Object, old: Object) -> None:
        """A write to another subresource than /status, where a kind has one."""
        self.prepare_update(obj, old)

    def stamp(self, obj: Object, old: Object | None, subresource: str, stamp: "Stamp") -> None:
        """Set what depends on the time or on who asks; only where `stamps` says so."""

    def prepare_delete(self, obj: Object, now: str) -> bool:
        """Whether the kind's own way of going keeps the object for now; marked the first time."""
        return False

    def may_go(self, obj: Object) -> bool:
        """Whether nothing of the kind's own holds an object that is being deleted."""
        return True

    def grace_seconds(self, obj: Object, asked: int | None) -> int | None:
        """How long a graceful deletion takes; None where the kind knows no such thing."""
        return None

    def validate(self, obj: Object) -> list[FieldError]:
        """Everything wrong with a new object: its metadata, then what `check` finds."""
        errors = metadata.validate(
            obj["metadata"], namespaced=self.resource.namespaced, check=self.name_check
        )
        return errors + self.check(obj)

    def validate_metadata(self, meta: Object, old: Object, subresource: str) -> list[FieldError]:
        """What rest.BeforeUpdate and then the kind itself say of changed metadata."""
        namespaced = self.resource.namespaced
        changes = objectmeta.validate_changes(meta, old)
        common = objectmeta.validate(meta, namespaced=namespaced, name_check=names.path_segment)
        compares, checks = metadata.again(self.resource.group, self.resource.plural)
        if subresource:
            compares, checks = 1, 0
        errors = [*common, *changes, *changes * compares]
        if checks:
            own = metadata.validate(meta, namespaced=namespaced, check=self.name_check)
            errors += own * checks
        return errors

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        """Everything wrong with a change; the metadata is the registry's."""
        if type(self).check is not Behaviour.check:
            return self.check(obj)
        return rules.update_errors(obj, self.gvk, old)

    def validate_part(self, name: str, obj: Object, old: Object) -> list[FieldError]:
        """Everything wrong with a write to another subresource than /status."""
        return self.validate_update(obj, old)

    def validate_status(self, obj: Object, old: Object) -> list[FieldError]:
        """Everything wrong with a write to /status."""
        errors = statuses.check(self.resource.group, self.resource.plural, obj, old)
        return errors + rules.part_errors(obj, self.gvk, old, "status")

    def check(self, obj: Object) -> list[FieldError]:
        """What is wrong with the object itself, on create and update alike."""
        return rules.of_object(obj, self.gvk)

    def warnings(self, obj: Object, old: Object | None) -> list[str]:
        """Texts for Warning headers."""
        return rules.warnings(obj, self.gvk, old)

    def _reset_status(self, obj: Object) -> None:
        zero = decoding.zero(self.gvk, "status")
        if zero is None:
            obj.pop("status", None)
        else:
            obj["status"] = zero


def reset_metadata(obj: Object, old: Object) -> None:
    """Metadata that a write to a part leaves as it was (metav1.ResetObjectMetaForStatus)."""
    for member in (
        "deletionTimestamp", "generation", "selfLink", "labels", "annotations", "finalizers",
        "ownerReferences",
    ):  # fmt: skip
        keep(obj["metadata"], old["metadata"], member)


def keep(obj: Object, old: Object, member: str) -> None:
    """Give a member its old value, or take it away."""
    if member in old:
        obj[member] = old[member]
    else:
        obj.pop(member, None)


def same(left: Any, right: Any) -> bool:
    """Semantic equality: nothing, null and an empty list or map are the same."""
    if (
        not left
        and not right
        and not isinstance(left, int | str)
        and not isinstance(right, int | str)
    ):
        return True
    return objects.same(left, right)
