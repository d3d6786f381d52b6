"""Path elements: one step of a field path, in the text form FieldsV1 writes them.

    f:NAME          a field of a struct or an entry of a map
    k:{"id":"a"}    the element of a keyed list with these keys
    v:"red"         a member of a set
    i:3             an element by its position

The text is the element's identity: `fieldsets` uses it as dictionary key. Follows
structured-merge-diff fieldpath/serialize-pe.go, element.go and value/value.go.
"""

import json
from typing import Any

from inkube.schemas import caches
from inkube.schemas.golang import gotext

_CACHED = 65_536  # texts of keys and set members
_EXPONENT_FROM = 1e21  # from here on Go's JSON writes floats with an exponent


class UnknownElementError(ValueError):
    """An element of a kind this version does not know; upstream drops it silently."""


@caches.of_texts(_CACHED, typed=True)
def key(names: tuple[str, ...], *values: Any) -> str:
    """`k:{…}` of scalar key values; `names` are sorted and pair up with `values`."""
    pairs = (f"{_json(n)}:{_json(v)}" for n, v in zip(names, values, strict=True))
    return "k:{" + ",".join(pairs) + "}"


def key_of(pairs: dict[str, Any]) -> str:
    """`k:{…}` of any key values, in the order of their names."""
    names = tuple(sorted(pairs))
    values = [pairs[name] for name in names]
    if any(isinstance(value, dict | list) for value in values):
        return "k:" + gotext.compact_json(pairs)
    return key(names, *values)


@caches.of_texts(_CACHED, typed=True)
def value(member: Any) -> str:
    """`v:…` of a scalar member of a set."""
    return "v:" + _json(member)


@caches.of_texts(_CACHED)
def parse(text: str) -> str:
    """Return the canonical form of an element a client wrote.

    Raises UnknownElementError for kinds unknown here, ValueError for broken ones.
    """
    if len(text) < 2 or text[1] != ":":
        raise ValueError(f"{text!r} is not a path element")
    kind, rest = text[0], text[2:]
    if kind == "f":
        return text
    if kind == "k":
        pairs = json.loads(rest)
        if not isinstance(pairs, dict):
            raise ValueError(f"{text!r} names no keys")
        return key_of(pairs)
    if kind == "v":
        member = json.loads(rest)
        return "v:" + gotext.compact_json(member) if _nested(member) else value(member)
    if kind == "i":
        return f"i:{int(rest)}"
    raise UnknownElementError(text)


def show(text: str) -> str:
    """Return an element as messages print it: `.name`, `[id="a"]`, `[="red"]`, `[3]`."""
    kind, rest = text[0], text[2:]
    if kind == "f":
        return "." + rest
    if kind == "k":
        pairs = json.loads(rest)
        return "[" + ",".join(f"{name}={_text(pairs[name])}" for name in sorted(pairs)) + "]"
    if kind == "v":
        return f"[={_text(json.loads(rest))}]"
    return f"[{rest}]"


@caches.of_texts(_CACHED)
def order(text: str) -> tuple[Any, ...]:
    """Sort key: fields by name, then keyed elements, members, positions by their values."""
    kind, rest = text[0], text[2:]
    if kind == "f" or text == ".":
        return (0, rest)
    if kind == "k":
        pairs = json.loads(rest)
        return (1, [(name, _rank(pairs[name])) for name in sorted(pairs)])
    if kind == "v":
        return (2, _rank(json.loads(rest)))
    return (3, int(rest))


def _json(item: Any) -> str:
    if isinstance(item, float) and item.is_integer() and abs(item) < _EXPONENT_FROM:
        return str(int(item))
    return gotext.compact_json(item)


def _nested(item: Any) -> bool:
    return isinstance(item, dict | list)


def _rank(item: Any) -> tuple[int, Any]:
    """value.Compare: numbers, strings, booleans, lists, maps, null."""
    if isinstance(item, bool):
        return (2, item)
    if isinstance(item, int | float):
        return (0, item)
    if isinstance(item, str):
        return (1, item)
    return (5, "") if item is None else (3, gotext.compact_json(item))


def _text(item: Any) -> str:
    """value.ToString: what stands behind `=`."""
    if isinstance(item, str):
        return gotext.quote(item)
    if isinstance(item, bool):
        return "true" if item else "false"
    if item is None:
        return "null"
    if isinstance(item, int | float):
        return gotext.number(item)
    if isinstance(item, list):
        return "[" + ",".join(map(_text, item)) + "]"
    return "".join(f"{name}={_text(item[name])}" for name in sorted(item))
