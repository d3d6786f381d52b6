"""The fieldPath of a rule: `.spec.items['a b']`, child access and quoted names, no indices.

Follows apiextensions-apiserver schema/cel/compilation.go ValidFieldPath.
"""

import re
from typing import Any

_TOKEN = re.compile(r"'(?:[^'\\]|\\.)*'|[.\[\]]|[^.\[\]']+[^.\[\]]*", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_LITERAL = frozenset({"\\", "'"})


def normalise(path: str, schema: dict[str, Any]) -> str:
    """The path as errors print it: `spec.map[key]`. Raises ValueError if there is no such field."""
    tokens = _tokens(path)
    printed = ""
    while tokens:
        part = tokens.pop(0)
        if part == ".":
            name = _taken(tokens)
            if name in (".", "[", "]"):
                raise ValueError(f"unexpected {name}")
        elif part == "[":
            name = _unquoted(_taken(tokens))
            if _taken(tokens) != "]":
                raise ValueError("expected ]")
        else:
            raise ValueError(f"expected [ or . but got: {part}")
        printed, schema = _step(printed, schema, name)
    return printed


def _tokens(path: str) -> list[str]:
    tokens: list[str] = []
    place = 0
    while place < len(path):
        match = _TOKEN.match(path, place)
        end = match.end() if match else len(path)
        tokens.append(path[place:end])
        place = end
    return tokens


def _taken(tokens: list[str]) -> str:
    if not tokens:
        raise ValueError("unexpected end of JSON path")
    return tokens.pop(0)


def _unquoted(token: str) -> str:
    if len(token) < 2 or token[0] != "'" or token[-1] != "'":
        raise ValueError(f"expected single quoted string but got {token}")

    def character(match: re.Match[str]) -> str:
        if match[1] in _LITERAL:
            return match[1]
        if match[1] not in _ESCAPES:
            raise ValueError(f"invalid string literal {token}")
        return _ESCAPES[match[1]]

    return _ESCAPE.sub(character, token[1:-1])


def _step(printed: str, schema: dict[str, Any], name: str) -> tuple[str, dict[str, Any]]:
    properties = schema.get("properties") or {}
    if name in properties:
        return (f"{printed}.{name}" if printed else name), properties[name]
    values = schema.get("additionalProperties")
    if isinstance(values, dict) and not properties:
        return f"{printed}[{name}]", values
    raise ValueError("does not refer to a valid field")
