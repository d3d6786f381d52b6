"""What behaviours ask of the table about whole objects, and about a type within one."""

from typing import Any

from inkube.schemas import caches
from inkube.schemas.builtin.rules import compiler, filling, shapes, table
from inkube.schemas.builtin.rules.frames import Frame
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.gotypes import table as gotypes
from inkube.schemas.meta import GVK, split_api_version
from inkube.schemas.objects import Object


@caches.of_values(256)
def name_of(api_version: str, kind: str) -> str:
    """The type of a kind: `batch/v1`, `Job` → `batch.v1.Job`. Raises KeyError."""
    group, version = split_api_version(api_version)
    full = gotypes.table().of(GVK(group, version, kind))
    if full is None:
        raise KeyError(f"{api_version} {kind}")
    return shapes.short_name(full)


def _name(obj: Object, gvk: GVK) -> str:
    """The type of an object; `gvk` is its kind, of which it may be in another version."""
    return name_of(obj.get("apiVersion") or gvk.api_version, gvk.kind)


def defaults(obj: Object, gvk: GVK) -> None:
    """Set what the object leaves out, in place."""
    filling.filler(_name(obj, gvk)).fill(obj)


def fill(name: str, value: Object) -> None:
    """The same of a struct of a type."""
    filling.filler(name).fill(value)


def drop_disabled(obj: Object, gvk: GVK, old: Object | None = None) -> None:
    """Take away the fields whose gate is off, unless the old object has them."""
    filling.dropper(_name(obj, gvk)).drop(obj, old)


def errors(name: str, value: Any, path: str = "", old: Any = None) -> list[FieldError]:
    """What is wrong with a struct of a type; `old` is what it was before an update."""
    return _run(name, "", value, path, old)


def of_object(obj: Object, gvk: GVK, old: Object | None = None) -> list[FieldError]:
    """What is wrong with an object, without its metadata, on create and update alike."""
    return _run(_name(obj, gvk), "", obj, "", old)


def update_errors(obj: Object, gvk: GVK, old: Object) -> list[FieldError]:
    """What is wrong with a change: the type's `update` paragraph, or else its only one."""
    name = _name(obj, gvk)
    occasion = "update" if table.paragraph(name, "update", table.NEWEST) else ""
    return _run(name, occasion, obj, "", old)


def part_errors(obj: Object, gvk: GVK, old: Object, subresource: str) -> list[FieldError]:
    """What is wrong with a change by a subresource: the paragraph of its name."""
    return _run(_name(obj, gvk), subresource, obj, "", old)


def warnings(obj: Object, gvk: GVK, old: Object | None) -> list[str]:
    """What a client is warned of."""
    frame = Frame(obj, "", old, None, updates=old is not None)
    return compiler.rules(_name(obj, gvk), "warnings").run(frame)


def _run(name: str, occasion: str, value: Any, path: str, old: Any) -> list[FieldError]:
    prefix = f"{path}." if path else ""
    frame = Frame(value, prefix, old, None, updates=old is not None)
    return compiler.rules(name, occasion).run(frame)
