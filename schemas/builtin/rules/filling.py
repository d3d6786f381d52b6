"""Defaults of the table, and the removal of fields whose feature gate is off.

Both walk an object along its Go types, and reach every field, also fields without rules of
validation. Follows the generated SetObjectDefaults of upstream: a struct's own defaults first, then
those of the structs inside it.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

import orjson

from inkube.schemas import caches, releases
from inkube.schemas.builtin.rules import conditions, functions, gates, shapes, table, words
from inkube.schemas.builtin.rules.frames import Frame
from inkube.schemas.builtin.rules.shapes import Shape
from inkube.schemas.builtin.rules.table import Line, Word
from inkube.schemas.objects import Object

Own = Callable[[Object], None]
_UNTOUCHED = frozenset({"meta.v1.ObjectMeta"})
_HOLDS = {"struct": 0, "list": 1, "map": 2}


class Filler:
    """The defaults of one type and of all types inside it."""

    __slots__ = ("_minor", "_name", "_parts")

    def __init__(self, name: str, minor: int) -> None:
        self._name = name
        self._minor = minor
        self._parts: tuple[list[Own], list[tuple[str, int, Filler]]] | None = None

    def fill(self, obj: Object) -> None:
        """Set missing fields in place. A second call changes nothing."""
        own, inner = self._parts or self._compile()
        for apply in own:
            apply(obj)
        for field, holds, filler in inner:
            if field not in obj:
                continue
            value = obj[field]
            if not value and value != {}:
                continue
            if holds == 0:
                filler.fill(value)
            else:
                for each in value if holds == 1 else value.values():
                    filler.fill(each)

    def _compile(self) -> tuple[list[Own], list[tuple[str, int, "Filler"]]]:
        found = table.paragraph(self._name, "", self._minor)
        own = [
            made
            for line in (found.lines(self._minor) if found is not None else [])
            if not shapes.is_later(self._name, line.path, self._minor)
            and (made := _own(self._name, line, self._minor)) is not None
        ]
        inner = [
            (field, _HOLDS[shape.kind], filler(shape.struct, self._minor))
            for field, shape in shapes.fields(self._name, self._minor).items()
            if shape.struct and _reaches(shape.struct, self._minor)
        ]
        self._parts = own, inner
        return self._parts


_FILLERS: Final[caches.Table[tuple[str, int], Filler]] = caches.Table(__name__, "_FILLERS", 4096)
"""The fillers of types. The limit is high enough for fewer than 600 types in each of six minors."""


def filler(name: str, minor: int = table.NEWEST) -> Filler:
    """Return the defaults of a type, such as `core.v1.PodSpec`."""
    key = (name, minor)
    return _FILLERS.get(key) or _FILLERS.keep(key, Filler(*key))


@caches.of_values(2048 * len(releases.RECORDED))
def _reaches(name: str, minor: int) -> bool:
    """Return whether the table has a default for the type or a type inside it."""
    for each in _held(name, minor):
        said = table.paragraphs(table.package_of(each)).get((each, ""), [])
        if any(" default" in text for paragraph in said for _, text in paragraph.body):
            return True
    return False


def _held(name: str, minor: int) -> Iterator[str]:
    """Yield the type and all types inside it, each once."""
    pending, seen = [name], set(_UNTOUCHED)
    while pending:
        each = pending.pop()
        if each not in seen:
            seen.add(each)
            yield each
            inner = shapes.fields(each, minor).values()
            pending += [shape.struct for shape in inner if shape.struct]


def _own(name: str, line: Line, minor: int) -> Own | None:
    word = line.find("default") or line.find("defaults")
    if word is None:
        return None
    file = line.location.partition(":")[0].removesuffix(".rules")
    made: Own
    if word.name == "defaults":
        made = functions.find(file, word.value, line.location)
    else:
        shape = shapes.at(name, line.path, minor)
        *outer, field = line.path
        made = _inside(outer, _default(field, shape, word, file, line.location))
    condition = line.find("if")
    if condition is None:
        return made
    whether = conditions.make(condition.value, name, file, line.location)

    def conditional(obj: Object) -> None:
        if whether(Frame(obj, "", None, None, updates=False)):
            made(obj)

    return conditional


def _inside(path: list[str], apply: Own) -> Own:
    """Return a function that applies `apply` to the struct at a path, if it exists."""
    if not path:
        return apply

    def apply_there(obj: Object) -> None:
        there = words.at(obj, path)
        if there is not None:
            apply(there)

    return apply_there


def _default(field: str, shape: Shape, word: Word, file: str, where: str) -> Own:
    """Set a default: for a pointer if it is nil, for another field if it is zero."""
    make = _maker(word.value, shape, file, where)
    keeps_zero = shape.pointer or shape.kind == "struct"

    def apply(obj: Object) -> None:
        value = obj.get(field)
        if value is None or (not value and not keeps_zero):
            made = make(obj)
            if made is not None:
                obj[field] = made

    return apply


def _maker(text: str, shape: Shape, file: str, where: str) -> Callable[[Object], Any]:
    if text.startswith("@"):
        found: Callable[[Object], Any] = functions.find(file, text[1:], where)
        return found
    if shape.kind == "string" or (shape.kind in ("intstr", "quantity") and not text.isdecimal()):
        return lambda _obj: text
    value = text if shape.kind == "quantity" else orjson.loads(text)
    if isinstance(value, dict | list):
        return lambda _obj: orjson.loads(text)
    return lambda _obj: value


class Dropper:
    """The fields of one type, and of types inside it, whose gate is off in a minor."""

    __slots__ = ("_calls", "_minor", "_name", "_of_items", "_parts")

    def __init__(self, name: str, minor: int) -> None:
        self._name = name
        self._minor = minor
        self._parts: tuple[list[str], list[tuple[str, int, Dropper]]] | None = None
        self._of_items: list[tuple[str, str]] = []
        """Fields of items (`containers[].restartPolicy`): the list, and the field."""
        self._calls: list[Callable[[Object, Object | None], None]] = []
        """Functions that remove parts of the struct that are not single fields (`drop=name`)."""

    def drop(self, obj: Object, old: Object | None) -> None:
        """Remove disabled fields in place, unless the old object has them."""
        own, inner = self._parts or self._compile()
        for field in own:
            if field in obj and not (old or {}).get(field):
                del obj[field]
        for take_away in self._calls:
            take_away(obj, old)
        for name, field in self._of_items:
            if not any(field in each for each in (old or {}).get(name) or ()):
                for each in obj.get(name) or ():
                    each.pop(field, None)
        for field, holds, dropper in inner:
            if not obj.get(field):
                continue
            value, before = obj[field], (old or {}).get(field)
            if holds == 0:
                dropper.drop(value, before)
                if not value and dropper.prunes:
                    del obj[field]
            elif holds == 1:
                for index, each in enumerate(value):
                    known = before[index] if before and index < len(before) else None
                    dropper.drop(each, known)
            else:
                for key, each in value.items():
                    dropper.drop(each, (before or {}).get(key))

    @property
    def prunes(self) -> bool:
        """Whether an empty struct is removed as well (`prune`)."""
        return _prunes(self._name, self._minor)

    def _compile(self) -> tuple[list[str], list[tuple[str, int, "Dropper"]]]:
        gated, minor = sorted(_gated(self._name, self._minor)), self._minor
        own = [field for field in gated if field != "self" and "[]." not in field]
        self._calls = _dropping(self._name, minor) if "self" in gated else []
        for field in gated:
            name, of_items, inside = field.partition("[].")
            if of_items:
                self._of_items.append((name, inside))
        inner = [
            (field, _HOLDS[shape.kind], dropper(shape.struct, minor))
            for field, shape in shapes.fields(self._name, minor).items()
            if shape.struct and _reaches_off(shape.struct, minor)
        ]
        self._parts = own, inner
        return self._parts


_DROPPERS: Final[caches.Table[tuple[str, int], Dropper]] = caches.Table(__name__, "_DROPPERS", 4096)
"""The droppers of types, with the same limit as `_FILLERS`."""


def dropper(name: str, minor: int = table.NEWEST) -> Dropper:
    """Return the dropper of a type."""
    key = (name, minor)
    return _DROPPERS.get(key) or _DROPPERS.keep(key, Dropper(*key))


@caches.of_values(4096)
def _prunes(name: str, minor: int) -> bool:
    found = table.paragraph(name, "", minor)
    return found is not None and any(line.find("prune") for line in found.lines(minor))


def _gated(name: str, minor: int) -> set[str]:
    return {line.field for line in _gated_lines(name, minor)}


def _gated_lines(name: str, minor: int) -> list[Line]:
    found = table.paragraph(name, "", minor)
    if found is None or not any(" gate=" in text for _, text in found.body):
        return []
    return [
        line
        for line in found.lines(minor)
        if (word := line.find("gate")) is not None and not gates.is_on(word.value, minor)
    ]


def _dropping(name: str, minor: int) -> list[Callable[[Object, Object | None], None]]:
    return [
        functions.find(
            line.location.partition(":")[0].removesuffix(".rules"), word.value, line.location
        )
        for line in _gated_lines(name, minor)
        if (word := line.find("drop")) is not None
    ]


@caches.of_values(4096)
def _reaches_off(name: str, minor: int) -> bool:
    """Return whether a disabled gate removes fields of the type or of types inside it."""
    return any(_gated(each, minor) for each in _held(name, minor))
