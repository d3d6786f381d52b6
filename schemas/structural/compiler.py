"""Validation of values: every Node is compiled once to the steps that check its values.

A `Dispatch` maps the Python type of a value to one step, or to None if no error is possible; such a
value costs one look-up. The order of errors, and which errors hide others, follow
kube-openapi/pkg/validation/validate/{schema,object_validator,slice_validator}.go.
"""

from types import NoneType
from typing import Any

from inkube.schemas import releases
from inkube.schemas.fielderrors import required
from inkube.schemas.structural import combinators, fieldpaths, leafchecks
from inkube.schemas.structural.fieldpaths import MapKey, Path
from inkube.schemas.structural.findings import Sink, Step
from inkube.schemas.structural.nodes import META_FIELDS, Children, Node

_RANGES_FRACTIONS = 35
"""The first minor that reports a fraction as out of the range of integers too."""


class Dispatch(dict[type, Step | None]):
    """JSON type → the step for values of this type, composed at the first use."""

    __slots__ = ("_compiler", "_node")

    def __init__(self, compiler: "Compiler", node: Node) -> None:
        super().__init__()
        self._compiler = compiler
        self._node = node

    def __missing__(self, kind: type) -> Step | None:
        step = self[kind] = _compose(self._compiler.steps(self._node, kind))
        return step


class Dispatches(dict[str, Dispatch]):
    """Field name → Dispatch; names of map keys are not kept."""

    __slots__ = ("_children", "_compiler", "_undeclared")

    def __init__(self, compiler: "Compiler", children: Children) -> None:
        super().__init__()
        self._compiler = compiler
        self._children = children
        self._undeclared = compiler.dispatch(children.additional)

    def __missing__(self, name: str) -> Dispatch:
        if name not in self._children.declared and name not in META_FIELDS:
            return self._undeclared
        dispatch = self[name] = self._compiler.dispatch(self._children[name])
        return dispatch


class Compiler:
    """Compiles Nodes to Dispatches and keeps them. Subclasses can change the visit of children."""

    def __init__(self, minor: int = releases.NEWEST.minor) -> None:
        self._ranges_fractions = minor >= _RANGES_FRACTIONS
        self._dispatches: dict[Node | None, Dispatch] = {}
        self._anything = Node({})

    def dispatch(self, node: Node | None) -> Dispatch:
        """Return the steps of a node; None is a place that the schema does not describe."""
        dispatch = self._dispatches.get(node)
        if dispatch is None:
            dispatch = self._dispatches[node] = Dispatch(self, node or self._anything)
        return dispatch

    def steps(self, node: Node, kind: type) -> list[Step]:
        """Return the steps for a value of this type, in upstream's order."""
        if kind is NoneType:
            return [*leafchecks.type_steps(node, kind), *leafchecks.enum_steps(node, kind)]
        steps = [*leafchecks.type_steps(node, kind), *combinators.steps(self, node)]
        if kind is str:
            steps += [*leafchecks.string_steps(node), *leafchecks.format_steps(node)]
        elif kind in {int, float}:
            steps += leafchecks.number_steps(node, kind, ranges_fractions=self._ranges_fractions)
        elif kind is list:
            steps += [*self._item_steps(node), *leafchecks.size_steps(node)]
        steps += leafchecks.enum_steps(node, kind)
        if kind is dict:
            steps += self._object_steps(node)
        return steps

    def dispatches(self, children: Children) -> Dispatches:
        """Return the steps of every field."""
        return Dispatches(self, children)

    def follow_items(self, dispatch: Dispatch) -> Step:
        """Return the step that checks every item of a list."""

        def check_items(value: Any, path: Path, errors: Sink) -> None:
            for index, item in enumerate(value):
                step = dispatch[type(item)]
                if step is not None:
                    step(item, (path, index), errors)

        return check_items

    def follow_fields(self, dispatches: Dispatches, needed: tuple[str, ...]) -> Step:
        """Return the step that checks every field of an object, and the presence of required
        fields."""

        check_needed = required_step(needed)

        def check_fields(value: Any, path: Path, errors: Sink) -> None:
            for name, item in value.items():
                step = dispatches[name][type(item)]
                if step is not None:
                    step(item, (path, name), errors)
            for name in needed:
                if name not in value:
                    check_needed(value, path, errors)
                    return

        return check_fields

    def follow_members(self, dispatches: Dispatches, needed: tuple[str, ...]) -> Step:
        """Return the step that checks every member of a map, as `follow_fields`."""
        check_fields = self.follow_fields(dispatches, needed)

        def check_members(value: Any, path: Path, errors: Sink) -> None:
            if path is None:
                value = {MapKey(key): item for key, item in value.items()}
            check_fields(value, path, errors)

        return check_members

    def _item_steps(self, node: Node) -> list[Step]:
        return [self.follow_items(self.dispatch(node.items))] if node.items else []

    def _object_steps(self, node: Node) -> list[Step]:
        steps: list[Step] = []
        least, most = node.raw.get("minProperties"), node.raw.get("maxProperties")
        if least is not None or most is not None:
            steps.append(leafchecks.size_step(least, most, "properties"))
        if node.raw.get("additionalProperties") is False:
            steps.append(leafchecks.forbidden_step(node.raw.get("properties") or {}))
        if node.raw.get("properties") or node.additional is not None:
            follow = self.follow_fields if node.raw.get("properties") else self.follow_members
            steps.append(follow(self.dispatches(node.children), node.required))
        elif node.required:
            steps.append(required_step(node.required))
        return steps


def _compose(steps: list[Step]) -> Step | None:
    if len(steps) < 2:
        return steps[0] if steps else None
    if len(steps) == 2:
        first, second = steps

        def both(value: Any, path: Path, errors: Sink) -> None:
            first(value, path, errors)
            second(value, path, errors)

        return both

    def every(value: Any, path: Path, errors: Sink) -> None:
        for step in steps:
            step(value, path, errors)

    return every


def required_step(names: tuple[str, ...]) -> Step:
    """Return the step that checks the presence of fields."""

    def check_required(value: Any, path: Path, errors: Sink) -> None:
        for name in names:
            if name not in value:
                errors.append(required(fieldpaths.text((path, name))))

    return check_required
