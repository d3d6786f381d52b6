"""JSON paths into a schema: `.spec.items['a.b'].name`.

Used for rules' fieldPath and for selectable fields. Follows pkg/apiserver/schema/cel/validation.go
(ValidFieldPath).
"""

import re
from typing import Any

from inkube.schemas.objects import Object

_TOKEN = re.compile(r"'(?:[^'\\]|\\.)*?'|[.\[\]]|'.*|[^.\[\]]+", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class InvalidPath(Exception):
    """The path does not lead to a field; the text is the reason."""


def resolve(path: str, schema: Object, *, arrays: bool = True) -> tuple[str, Object]:
    """Return the path in the form of field errors, and the schema it leads to. Raises InvalidPath.

    If `arrays` is false, brackets in the path are refused.
    """
    tokens = iter(_TOKEN.findall(path))
    prefix = ""
    for part in tokens:
        if part == ".":
            name = _next(tokens)
        elif part == "[":
            if not arrays:
                raise InvalidPath("array notation is not allowed")
            name = _quoted(_next(tokens))
        else:
            raise InvalidPath(f"expected [ or . but got: {part}")
        prefix, schema = _step(name, prefix, schema)
        if part == "[" and (closing := _next(tokens)) != "]":
            raise InvalidPath(f"expected ] but got {closing}")
    return prefix, schema


def _next(tokens: Any) -> str:
    part: str | None = next(tokens, None)
    if part is None:
        raise InvalidPath("unexpected end of JSON path")
    return part


def _quoted(part: str) -> str:
    if len(part) < 2 or part[0] != "'" or part[-1] != "'":
        raise InvalidPath(f"expected single quoted string but got {part}")
    return _ESCAPE.sub(_unescape, part[1:-1])


def _unescape(match: re.Match[str]) -> str:
    char = match[1]
    if char in _ESCAPED:
        return _ESCAPED[char]
    if char in "'\\":
        return char
    raise InvalidPath(f"invalid string literal: invalid escape char {match[0]}")


def _step(name: str, prefix: str, schema: Object) -> tuple[str, Object]:
    properties = schema.get("properties")
    if properties is not None:
        if name not in properties:
            raise InvalidPath("does not refer to a valid field")
        return (f"{prefix}.{name}" if prefix else name), properties[name]
    additional = schema.get("additionalProperties")
    if additional is None:
        raise InvalidPath("does not refer to a valid field")
    return f"{prefix}[{name}]", additional if isinstance(additional, dict) else {}
