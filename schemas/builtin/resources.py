"""The index of built-in resources: names, scope, verbs and subresources, as in discovery.

`resources.txt` contains the data and, at its start, the description of a line. Schemas are
elsewhere (`types`), so that the index alone adds only one millisecond to a server's start.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from inkube.schemas import caches, releases
from inkube.schemas.definitions import ALL_VERBS, Subresource

_RANGED = re.compile(r"\[([0-9.]+)\]")
_VERSIONS, _FLAGS = 1, 8
_DIVIDERS = {_VERSIONS: ",", _FLAGS: ";"}
"""Separators of words in columns whose words can have their own ranges of minors."""
_INDEX = Path(__file__).with_name("resources.txt")


class Resource(NamedTuple):
    """One line of the index. `versions` begins with the preferred one; `stored` is one of them."""

    group: str
    versions: tuple[str, ...]
    stored: str
    plural: str
    kind: str
    namespaced: bool
    short_names: tuple[str, ...]
    categories: tuple[str, ...]
    verbs: tuple[str, ...]
    subresources: tuple[Subresource, ...]
    flags: dict[str, Any]
    """Members of the kind's `Definition` that differ from those of most built-in kinds."""


_MINORS = len(releases.RECORDED)


@caches.of_values(_MINORS)
def read(minor: int = releases.NEWEST.minor) -> tuple[Resource, ...]:
    """Return the built-in resources of a minor, groups in discovery's order, plurals sorted within
    a group."""
    lines = _INDEX.read_text(encoding="utf-8").splitlines()
    described = (_of_minor(line, minor) for line in lines if line and not line.startswith("#"))
    return tuple(_resource(line) for line in described if line)


@caches.of_values(_MINORS)
def by_name(minor: int = releases.NEWEST.minor) -> dict[tuple[str, str], Resource]:
    """Return the resources of `read`, by (group, plural)."""
    return {(resource.group, resource.plural): resource for resource in read(minor)}


def _of_minor(line: str, minor: int) -> str:
    """Return the line for a minor, without ranges; "" if no version is served."""
    if "[" not in line:
        return line
    columns = line.split()
    for place in range(len(columns)):
        divider = _DIVIDERS.get(place)
        words = columns[place].split(divider) if divider else [columns[place]]
        columns[place] = (divider or "").join(_in_range(words, minor)) or "-"
    return "" if columns[_VERSIONS] == "-" else " ".join(columns)


def _in_range(words: list[str], minor: int) -> Iterator[str]:
    for word in words:
        found = _RANGED.search(word)
        if found is None:
            yield word
        elif releases.holds(found[1], minor):
            yield word.replace(found[0], "", 1)


def _resource(line: str) -> Resource:
    group, versions, plural, kind, scope, short, categories, verbs, flags, *subs = line.split()
    names = versions.split(",")
    stored = next((name for name in names if name.endswith("*")), names[0])
    return Resource(
        group="" if group == "-" else group,
        versions=tuple(name.rstrip("*") for name in names),
        stored=stored.rstrip("*"),
        plural=plural,
        kind=kind,
        namespaced=scope == "N",
        short_names=_names(short),
        categories=_names(categories),
        verbs=ALL_VERBS if verbs == "all" else _names(verbs),
        subresources=tuple(_subresources(subs)),
        flags={} if flags == "-" else dict(map(_flag, flags.split(";"))),
    )


def _names(text: str) -> tuple[str, ...]:
    return () if text == "-" else tuple(text.split(","))


def _flag(text: str) -> tuple[str, Any]:
    name, says, value = text.partition("=")
    if not says:
        return name.removeprefix("!"), not name.startswith("!")
    if value.startswith("("):
        return name, tuple(filter(None, value.strip("()").split("+")))
    return name, value


def _subresources(words: list[str]) -> Iterator[Subresource]:
    for word in words:
        if word == "-":
            continue
        rest, _, verbs = word.partition("=")
        rest, _, place = rest.partition("@")
        name, _, kind = rest.partition(":")
        group, _, version = place.rpartition("/")
        allowed = _names(verbs) if verbs else ("get", "patch", "update")
        yield Subresource(name, kind, group, version, allowed)
