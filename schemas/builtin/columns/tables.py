"""The columns of each kind in `kubectl get`: `columns.json`.

A column there is `name`, or `name:type` if the type is not string. A `*` at the end means that only
`-o wide` shows it. A range of minors can follow: `Age[..1.32]`. Its description is a text, or
`@GROUP.VERSION.TYPE.FIELD` for the description of that field in the API. Follows
pkg/printers/internalversion/printers.go AddHandlers.
"""

from pathlib import Path

import orjson

from inkube.schemas import caches, releases
from inkube.schemas.definitions import Column
from inkube.schemas.gotypes import table
from inkube.schemas.metadata import AGE, NAME

_FILE = Path(__file__).with_name("columns.json")
_COMMON = {"Name": NAME, "Age": AGE, "Created At": AGE}
_DEFAULT = {"Name": "", "Created At:date": ""}


@caches.of_values(1)
def _tables() -> dict[str, dict[str, str]]:
    """Return the columns by `group/plural`. Reading them takes 0.1 ms."""
    tables: dict[str, dict[str, str]] = orjson.loads(_FILE.read_bytes())
    return tables


def has(group: str, plural: str) -> bool:
    """Return whether the kind has its own columns. Other kinds show the name and the creation
    time."""
    return f"{group}/{plural}" in _tables()


@caches.of_values(256)
def of(group: str, plural: str, minor: int = releases.NEWEST.minor) -> tuple[Column, ...]:
    """Return the kind's printer columns in a minor, including the name."""
    return tuple(_column(word, text) for word, text in _of_minor(group, plural, minor))


@caches.of_values(256)
def places(group: str, plural: str, minor: int) -> tuple[int, ...]:
    """Return the positions of a minor's columns among the newest columns."""
    newest = [column.name for column in of(group, plural)]
    return tuple(newest.index(column.name) for column in of(group, plural, minor))


@caches.of_values(256)
def _of_minor(group: str, plural: str, minor: int) -> tuple[tuple[str, str], ...]:
    columns = _tables().get(f"{group}/{plural}", _DEFAULT)
    found = []
    for word, text in columns.items():
        name, _, span = word.removesuffix("]").partition("[")
        if not span or releases.holds(span, minor):
            found.append((name, text))
    return tuple(found)


def _column(word: str, text: str) -> Column:
    wide = word.endswith("*")
    name, _, kind = word.rstrip("*").partition(":")
    common = _COMMON.get(name, Column(name, "", "", description=f"{name} of the object"))
    return common._replace(
        name=name,
        type=kind or "string",
        description=_description(text) or common.description,
        priority=1 if wide else 0,
    )


def _description(text: str) -> str:
    if not text.startswith("@"):
        return text
    kind, _, field = text[1:].rpartition(".")
    return table.descriptions()[f"io.k8s.api.{kind}"].get(field, "")
