"""Pruning and defaulting: removing fields that a schema does not have, and setting defaults.

`settle` does all that kube-apiserver does to a decoded object, in one walk: it prunes unknown
fields, drops nulls that are neither allowed nor replaced by a default, and sets defaults. `prune`
and `default` are its parts. All functions change the object in place. They follow
apiextensions-apiserver/pkg/apiserver/schema/{pruning,defaulting}.
"""

from typing import Any

from inkube.schemas.objects import Object
from inkube.schemas.structural import fieldpaths
from inkube.schemas.structural.fieldpaths import Path
from inkube.schemas.structural.nodes import META_FIELDS, NOTHING, Node


def settle(node: Node, obj: Object, unknown: list[str] | None, *, root: bool = False) -> None:
    """Prune, drop nulls, default. Adds the sorted paths of unknown fields to `unknown`."""
    walk = _Walk(nulls=True, defaults=True, unknown=None if unknown is None else [])
    walk.visit_object(node, obj, None, root=root)
    if unknown is not None and walk.unknown:
        unknown.extend(sorted(walk.unknown))


def prune(node: Node, obj: Object, *, root: bool = False) -> None:
    """Remove fields that the schema does not have; nulls stay and defaults are not set."""
    _Walk(nulls=False, defaults=False, unknown=None).visit_object(node, obj, None, root=root)


def coerce(node: Node, obj: Object, *, root: bool = False) -> None:
    """Prune, and drop nulls that are neither allowed nor replaced by a default."""
    _Walk(nulls=True, defaults=False, unknown=None).visit_object(node, obj, None, root=root)


def default(node: Node, obj: Any) -> None:
    """Set defaults, also for nulls that are not allowed; removes no fields."""
    if type(obj) is dict:
        _default_map(node, obj)
    elif type(obj) is list and node.items is not None:
        _default_list(node.items, obj)


def default_missing(node: Node, obj: Object) -> None:
    """Set the defaults of the missing fields of this object."""
    for name, child in node.defaults:
        if name not in obj:
            obj[name] = item = child.new_default()
            default(child, item)


def _default_map(node: Node, obj: Object) -> None:
    for name, child in node.defaults:
        if name not in obj:
            obj[name] = child.new_default()
    children = node.children
    for name, item in obj.items():
        child_or_none = children[name]
        if child_or_none is None:
            continue
        if item is None and not child_or_none.nullable:
            item = obj[name] = child_or_none.new_default()
        if type(item) is dict or type(item) is list:
            default(child_or_none, item)


def _default_list(node: Node, items: list[Any]) -> None:
    for index, item in enumerate(items):
        if item is None and not node.nullable:
            item = items[index] = node.new_default()
        if type(item) is dict or type(item) is list:
            default(node, item)


class _Walk:
    """One walk over an object. `unknown` collects paths if it is a list."""

    __slots__ = ("defaults", "nulls", "unknown")

    def __init__(self, *, nulls: bool, defaults: bool, unknown: list[str] | None) -> None:
        self.nulls = nulls
        self.defaults = defaults
        self.unknown = unknown

    def visit_object(self, node: Node, obj: Object, path: Path, *, root: bool = False) -> None:
        """Process an object with the schema `node`."""
        children = node.children
        meta = root or node.embedded
        gone = []
        for name, item in obj.items():
            child = children[name]
            kind = type(item)
            if child is None:
                if not node.preserve and not (meta and name in META_FIELDS):
                    gone.append(name)
            elif item is None:
                if self.nulls and not child.nullable and child is not NOTHING:
                    self._null(child, obj, name, gone)
            elif kind is dict:
                if not (meta and name in META_FIELDS):
                    self.visit_object(child, item, (path, name))
                elif self.defaults:
                    default(child, item)
            elif kind is list:
                self.visit_list(child, item, (path, name))
        for name in gone:
            self._remove(obj, name, path, is_declared=children[name] is not None)
        if self.defaults and node.defaults:
            default_missing(node, obj)

    def visit_list(self, node: Node, items: list[Any], path: Path, *, keep: bool = False) -> None:
        """Process a list with the schema `node`.

        With `keep`, or if `node` preserves unknown fields, items keep those of their own level.
        """
        keep = keep or node.preserve
        child = node.items
        if child is None:
            if not keep:
                self._empty(items, path)
            return
        for index, item in enumerate(items):
            kind = type(item)
            if kind is dict:
                if keep and not child.preserve:
                    self._keep(child, item, (path, index))
                else:
                    self.visit_object(child, item, (path, index))
            elif kind is list:
                self.visit_list(child, item, (path, index), keep=keep)
            elif item is None and self.defaults and not child.nullable:
                items[index] = item = child.new_default()
                default(child, item)

    def _keep(self, node: Node, obj: Object, path: Path) -> None:
        unknown = {name: item for name, item in obj.items() if node.children[name] is None}
        for name in unknown:
            del obj[name]
        self.visit_object(node, obj, path)
        obj.update(unknown)

    def _null(self, child: Node, obj: Object, name: str, gone: list[str]) -> None:
        if not child.has_default:
            gone.append(name)
        elif self.defaults:
            obj[name] = item = child.new_default()
            default(child, item)

    def _remove(self, obj: Object, name: str, path: Path, *, is_declared: bool) -> None:
        del obj[name]
        if (
            self.unknown is not None
            and not is_declared
            and not (path is None and name in META_FIELDS)
        ):
            self.unknown.append(fieldpaths.text((path, name)))

    def _empty(self, items: list[Any], path: Path) -> None:
        """Process items without a schema: remove all members of objects."""
        for index, item in enumerate(items):
            if type(item) is dict:
                self.visit_object(NOTHING, item, (path, index))
            elif type(item) is list:
                self._empty(item, (path, index))
