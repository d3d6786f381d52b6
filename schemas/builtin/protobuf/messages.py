"""The messages of built-in kinds: a table of field numbers, read at the first use."""

import gzip
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from inkube.schemas import caches
from inkube.schemas.gotypes import table
from inkube.schemas.meta import GVK

META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
RUNTIME: Final = "io.k8s.apimachinery.pkg.runtime."
ZERO, REPEATED = 1, 2
"""Modes: a field that Go writes also with its zero value, and a repeated field."""
_META_GROUPS = ("", "meta.k8s.io")
_DISCOVERY = "apidiscovery.k8s.io"


class Row(NamedTuple):
    """One field. tools/generate_messages.py documents the kinds and the targets."""

    number: int
    member: str
    kind: str
    target: str
    mode: int


@caches.of_values(1)
def every() -> dict[str, list[list[Any]]]:
    """Return all messages by name. Reading them takes 1 ms."""
    packed = Path(__file__).with_name("messages.json.gz").read_bytes()
    found: dict[str, list[list[Any]]] = orjson.loads(gzip.decompress(packed))
    return found


def rows(name: str) -> list[Row]:
    """Return the fields of a message, in the order of the table."""
    return [Row(*row) for row in every()[name]]


def of(gvk: GVK) -> str:
    """Return the name of the kind's message, or "" without one.

    Some kinds of meta exist in every group (DeleteOptions) or in several groups (Status).
    """
    if gvk.kind == "DeleteOptions":
        return f"{META}DeleteOptions"
    name = table.table().of(gvk) or ""
    if not name and gvk.group in _META_GROUPS:
        name = f"{META}{gvk.kind}"
    elif not name and gvk.group == _DISCOVERY:
        name = f"io.k8s.api.apidiscovery.{gvk.version}.{gvk.kind}"
    return name if name in every() else ""
