"""Finds structs that the table of rules accepts, from the table and the Go types alone.

A search begins with an empty struct, and repairs the errors that the rules report: it tries values
of the field's type at the place of an error, and keeps the one with the fewest remaining errors.
"""

import copy
import heapq
import itertools
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from inkube.schemas.builtin.rules import compiler, filling, shapes
from inkube.schemas.builtin.rules.frames import Frame
from inkube.schemas.builtin.rules.shapes import Shape
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.objects import Object

STEPS = 100
"""The maximum of repairs; beyond it, a type counts as one that is valid only inside another."""
TEXTS = (
    "a", "a.b.c", "example.com/a", "/a", "10.9.8.7", "10.9.8.0/24", "1", "* * * * *", "A", "v1",
    "PersistentVolumeClaim", "storage", "cpu", "a:1", "iqn.2001-04.com.example:a",
    "metadata.name", "limits.cpu", "true", "SIGTERM", "Always", "kernel.shm_rmid_forced", "Exists",
)  # fmt: skip
VALUES: dict[str, tuple[Any, ...]] = {
    "string": TEXTS,
    "int32": (1, 0, 2, 10, 600, 1000), "int64": (1, 0, 2, 10, 600, 1000), "float": (1.0,),
    "bool": (True, False), "intstr": (1, "50%", "a"), "quantity": ("1", "0"),
    "bytes": ("YQ==",), "time": ("2026-01-01T00:00:00Z",), "microtime": ("2026-01-01T00:00:00Z",),
    "raw": ({"a": 1},), "json": ({"a": 1},),
}  # fmt: skip
_PART = re.compile(r"([^.\[\]]+)|\[([^\]]*)\]")
_WORDS = re.compile(r"\b[A-Z][A-Za-z]+\b|(?<=\")[\w-]+(?=\")")


def errors(name: str, value: Object) -> list[FieldError]:
    """Return the errors that the newest rules report on creation for a struct without its
    parent."""
    return compiler.rules(name).run(Frame(value, "", None, None, updates=False))


def find(name: str, metadata: Object | None = None) -> Object | None:
    """Return a struct of a type without errors. None if the search finds none: the type needs its
    parent, or a value that cannot be guessed."""
    first: Object = {}
    if "metadata" in shapes.fields(name):
        first["metadata"] = metadata or {"name": "a", "namespace": "a"}
    _settle(name, first)
    try:
        return _search(name, first)
    except (AssertionError, AttributeError, KeyError, StopIteration):  # the rules need its parent
        return None


def _settle(name: str, value: Object) -> None:
    """Apply decoding and defaults to a struct. A struct that is not a pointer always exists."""
    _complete(name, value)
    filling.filler(name).fill(value)


def _complete(name: str, value: Object) -> None:
    for field, shape in shapes.fields(name).items():
        if not shape.struct or field == "metadata":
            continue
        if shape.kind == "struct" and not shape.pointer:
            value.setdefault(field, {})
        inner = value.get(field)
        if shape.kind == "struct":
            inner = [inner]
        for each in inner.values() if isinstance(inner, dict) else inner or ():
            if each is not None:
                _complete(shape.struct, each)


def _search(name: str, first: Object) -> Object | None:
    """Repair repeatedly, always starting from the struct with the fewest errors."""
    order = itertools.count()
    open_ = [(len(errors(name, first)), next(order), first)]
    seen = {json.dumps(first, sort_keys=True)}
    for _ in range(STEPS):
        if not open_:
            return None
        wrong, _, value = heapq.heappop(open_)
        if not wrong:
            return value
        for changed in _mended(name, value):
            text = json.dumps(changed, sort_keys=True)
            if text not in seen:
                seen.add(text)
                heapq.heappush(open_, (len(errors(name, changed)), next(order), changed))
    return None


def _mended(name: str, value: Object) -> Iterator[Object]:
    for error in errors(name, value)[:3]:
        words = _WORDS.findall(error.text()) + re.findall(r"\[(\w+)\]", error.field)
        for place, shape in _places(name, error.field):
            for candidate in (*_candidates(shape, words), None):
                changed = copy.deepcopy(value)
                if _put(changed, place, candidate):
                    _settle(name, changed)
                    yield changed


def _candidates(shape: Shape, told: Sequence[str] = ()) -> Iterator[Any]:
    """Yield values of a type. `told` are words of an error, because some errors list the valid
    values."""
    if shape.kind == "struct":
        yield {}
    elif shape.kind in ("list", "map"):
        inner = Shape(shape.item, shape.struct, "", pointer=False, keys=())
        for each in itertools.islice(_candidates(inner, told), 4 if shape.kind == "map" else None):
            if shape.kind == "list":
                yield [each]
            else:
                yield from ({key: each} for key in ("a", *told))
    else:
        yield from told if shape.kind == "string" else ()
        yield from VALUES.get(shape.kind, ())


def _places(name: str, path: str) -> Iterator[tuple[list[Any], Shape]]:
    """Yield the field at a path. If the path names a struct, all of its fields."""
    place: list[Any] = []
    shape = Shape("struct", name, "", pointer=False, keys=())
    for text, index in _PART.findall(path):
        if shape.kind == "struct" and text in (known := shapes.fields(shape.struct)):
            place.append(text)
            shape = known[text]
        elif shape.kind in ("list", "map") and not text:
            place.append(int(index) if shape.kind == "list" else index)
            shape = Shape(shape.item, shape.struct, "", pointer=False, keys=())
        else:
            break
    if place:
        yield place, shape
    if shape.kind == "struct":
        for field, inner in shapes.fields(shape.struct).items():
            yield [*place, field], inner


def _put(value: Any, place: list[Any], new: Any) -> bool:
    """Set or remove the value at a place, and create the structs around it."""
    try:
        for key in place[:-1]:
            value = value.setdefault(key, {}) if isinstance(value, dict) else value[key]
        if new is None:
            del value[place[-1]]
        else:
            value[place[-1]] = new
    except (KeyError, IndexError, TypeError):
        return False
    return True
