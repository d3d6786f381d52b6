"""The table for strategies: rules of whole objects, and of types inside them."""

from typing import Any

from inkube.schemas import caches, releases
from inkube.schemas.builtin.rules import compiler, filling, shapes, table
from inkube.schemas.builtin.rules.frames import UNCHECKED, Frame, MetadataChecks
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.gotypes import table as gotypes
from inkube.schemas.meta import GVK, split_api_version
from inkube.schemas.objects import Object


class Rulebook:
    """The table of one minor."""

    def __init__(self, minor: int) -> None:
        self.minor = minor

    def defaults(self, obj: Object, gvk: GVK) -> None:
        """Set the defaults of an object in place."""
        filling.filler(_name(obj, gvk), self.minor).fill(obj)

    def fill(self, name: str, value: Object) -> None:
        """Set the defaults of a struct of a type in place."""
        filling.filler(name, self.minor).fill(value)

    def drop_disabled(self, obj: Object, gvk: GVK, old: Object | None = None) -> None:
        """Remove the fields whose gate is off, unless the old object has them."""
        filling.dropper(_name(obj, gvk), self.minor).drop(obj, old)

    def drop(self, name: str, value: Object, old: Object | None = None) -> None:
        """Remove the fields of a struct of a type whose gate is off, unless the old one has
        them."""
        filling.dropper(name, self.minor).drop(value, old)

    def errors(self, name: str, value: Any, path: str = "", old: Any = None) -> list[FieldError]:
        """Return the errors of a struct of a type. `old` is its state before an update."""
        return compiler.errors(name, value, path, old, minor=self.minor)

    def of_object(self, obj: Object, gvk: GVK, old: Object | None = None) -> list[FieldError]:
        """Return the errors of an object, without its metadata, on a create or an update."""
        return compiler.errors(_name(obj, gvk), obj, old=old, minor=self.minor)

    def update_errors(
        self, obj: Object, gvk: GVK, old: Object, metadata: MetadataChecks = UNCHECKED
    ) -> list[FieldError]:
        """Return the errors of an update, in the order of the type's `update` paragraph. Without
        one, they are those of changed metadata, then those of a create. By default, metadata is
        not checked."""
        name = _name(obj, gvk)
        if not table.paragraph(name, "update", self.minor):
            return metadata.changes() + compiler.errors(name, obj, old=old, minor=self.minor)
        return compiler.errors(
            name, obj, old=old, occasion="update", minor=self.minor, metadata=metadata
        )

    def part_errors(self, obj: Object, gvk: GVK, old: Object, subresource: str) -> list[FieldError]:
        """Return the errors of an update of a subresource, by the paragraph of its name."""
        return compiler.errors(
            _name(obj, gvk), obj, old=old, occasion=subresource, minor=self.minor
        )

    def warnings(
        self, obj: Object, gvk: GVK, old: Object | None, occasion: str = "warnings"
    ) -> list[str]:
        """Return the warnings for an object, by its paragraph for the occasion."""
        frame = Frame(obj, "", old, None, updates=old is not None, minor=self.minor)
        return compiler.rules(_name(obj, gvk), occasion, self.minor).run(frame)


@caches.of_values(len(releases.RECORDED))
def book(minor: int = releases.NEWEST.minor) -> Rulebook:
    """Return the rules of a minor."""
    return Rulebook(minor)


def fill(name: str, value: Object) -> None:
    """Set the newest defaults of a struct in place, as `Rulebook.fill` does."""
    book().fill(name, value)


@caches.of_values(256)
def name_of(api_version: str, kind: str) -> str:
    """Return the type of a kind: `batch/v1`, `Job` → `batch.v1.Job`. Raises KeyError."""
    group, version = split_api_version(api_version)
    full = gotypes.table().of(GVK(group, version, kind))
    if full is None:
        raise KeyError(f"{api_version} {kind}")
    return shapes.short_name(full)


def _name(obj: Object, gvk: GVK) -> str:
    """Return the type of an object. `gvk` is its kind; the object can have another version of
    it."""
    return name_of(obj.get("apiVersion") or gvk.api_version, gvk.kind)
