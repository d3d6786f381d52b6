"""Validation of literals in an expression without type errors.

Finds durations, timestamps and patterns that do not parse, and lists and maps of mixed types. In
arguments of format(), it checks the clauses instead of mixed types.
Upstream: cel-go cel/validator.go,
ext/string_format.go (stringFormatValidator).
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

from inkube.schemas.cel.declarations import types
from inkube.schemas.cel.declarations.functions import EvalError
from inkube.schemas.cel.declarations.types import Type
from inkube.schemas.cel.language.ast import Call, Const, ListNode, MapNode, Node, children, walk
from inkube.schemas.cel.language.source import Issue
from inkube.schemas.cel.library import conversions, formatting
from inkube.schemas.golang import regexp

_FORMAT: Final = "format"


def validate(root: Node) -> list[Issue]:
    """Return the issues of a checked tree."""
    return [*_literals(root), *_mixtures(root), *_formats(root)]


def _read_pattern(text: str) -> None:
    try:
        regexp.compile(text)
    except regexp.RegexError as error:
        raise EvalError(str(error)) from None


_READERS: Final[dict[str, Callable[[str], Any]]] = {
    "duration": conversions.string_to_duration,
    "timestamp": conversions.string_to_timestamp,
    "matches": _read_pattern,
}

_NUMBER_READERS: Final[dict[str, Callable[[int], Any]]] = {
    "duration": conversions.int_to_duration,
    "timestamp": conversions.int_to_timestamp,
}


def _literals(root: Node) -> Iterator[Issue]:
    for node in walk(root):
        if not isinstance(node, Call) or node.function not in _READERS or not node.args:
            continue
        argument = node.args[0]
        if not isinstance(argument, Const):
            continue
        reader = _reader(node.function, argument.value)
        if reader is None:
            continue
        try:
            reader(argument.value)
        except EvalError:
            yield Issue(argument.pos, f"invalid {node.function} argument")


def _reader(function: str, literal: Any) -> Callable[[Any], Any] | None:
    """Return the function that reads a literal, or None for literals that are not checked."""
    if isinstance(literal, str):
        return _READERS[function]
    return _NUMBER_READERS.get(function) if isinstance(literal, int) else None


def _mixtures(root: Node) -> Iterator[Issue]:
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, Call) and node.function == _FORMAT:
            continue
        if isinstance(node, ListNode):
            yield from _mixed_list(node)
        if isinstance(node, MapNode):
            yield from _mixed_map(node)
        stack.extend(children(node))


def _mixed_list(node: ListNode) -> Iterator[Issue]:
    """Yield the issue for the first element with another type than the first one."""
    expected: Type | None = None
    for place, element in enumerate(node.elements):
        actual = _value_type(element, is_optional=place in node.optional)
        expected = expected or actual
        if actual != expected:
            yield _mismatch(element, expected, actual)
            return


def _mixed_map(node: MapNode) -> Iterator[Issue]:
    if not node.entries:
        return
    first = node.entries[0]
    key, value = first.key.type, _value_type(first.value, is_optional=first.optional)
    for entry in node.entries[1:]:
        if entry.key.type != key:
            yield _mismatch(entry.key, key, entry.key.type)
        actual = _value_type(entry.value, is_optional=entry.optional)
        if actual != value:
            yield _mismatch(entry.value, value, actual)


def _value_type(node: Node, *, is_optional: bool) -> Type:
    return node.type.params[0] if is_optional and types.is_optional(node.type) else node.type


def _mismatch(node: Node, expected: Type, actual: Type) -> Issue:
    return Issue(node.pos, f"expected type '{expected}' but found '{actual}'")


def _formats(root: Node) -> Iterator[Issue]:
    for node in walk(root):
        if not isinstance(node, Call) or node.function != _FORMAT or len(node.args) != 1:
            continue
        template, arguments = node.target, node.args[0]
        if not isinstance(template, Const) or not isinstance(template.value, str):
            continue
        if isinstance(arguments, ListNode):
            yield from _format(node, template.value, arguments)


def _format(node: Call, template: str, arguments: ListNode) -> Iterator[Issue]:
    places: list[Node] = []

    def accept(index: int, verb: str) -> str | None:
        fault = _refused(arguments.elements[index], verb)
        if fault is None:
            return None
        places.append(fault)
        return formatting.refusal(verb, fault.type.name)

    text = formatting.check(template, len(arguments.elements), accept)
    if text is not None:
        yield Issue((places or [node])[0].pos, text)


def _refused(node: Node, verb: str) -> Node | None:
    """Return the argument, or the part of a literal list or map in it, that the clause does not
    accept."""
    if not formatting.accepts(verb, node.type):
        return node
    if verb == "s" and isinstance(node, ListNode | MapNode):
        return next((fault for part in children(node) if (fault := _refused(part, verb))), None)
    return None
