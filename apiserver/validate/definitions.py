"""Definitions of kinds from where they are: files, folders, servers, captures, schemas."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inkube.apiserver.validate import files, liveservers
from inkube.apiserver.validate.files import File
from inkube.schemas import documents, offline
from inkube.schemas.documents import Document
from inkube.schemas.offline import ForeignKind

_DATABASE = b"SQLite format 3\x00"
_KUBECONFIG = (b"kind: Config", b'"kind":"Config"', b'"kind": "Config"')


@dataclass(slots=True)
class Sources:
    """What sources of definitions contain."""

    documents: list[Document] = field(default_factory=list)
    """Documents, of which the CRDs define kinds."""
    foreign: list[ForeignKind] = field(default_factory=list)
    """Kinds that other notations define."""


def read(places: Iterable[str]) -> Sources:
    """Read sources of definitions. Raises InputError."""
    sources = Sources()
    for place in places:
        if place.startswith(("http://", "https://")):
            _add_value(sources, place, liveservers.fetch(place))
            continue
        for file in files.find([place]):
            _add_file(sources, file)
    return sources


def _add_file(sources: Sources, file: File) -> None:
    if files.begins_with(file, _DATABASE):
        _add_value(sources, file.name, liveservers.of_snapshot(Path(file.path)))
        return
    body = files.read(file)
    if file.is_named and any(mark in body for mark in _KUBECONFIG):
        _add_value(sources, file.name, liveservers.of_cluster(Path(file.path)))
    elif body.lstrip()[:1] == b"{" and _add_schemas(sources, file.name, body):
        return
    else:
        sources.documents += documents.split(file.name, body)


def _add_schemas(sources: Sources, name: str, body: bytes) -> bool:
    """Add the kinds of a file of schemas. Returns whether it is one."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return False
    found = offline.kinds_in(name, value)
    sources.foreign += found or []
    return found is not None


def _add_value(sources: Sources, name: str, value: Any) -> None:
    found = offline.kinds_in(name, value)
    if found is None:
        sources.documents.append(Document(name, 1, 1, json.dumps(value).encode(), "json"))
    else:
        sources.foreign += found
