"""The resource versions that captured objects have in their cluster.

The objects in a data file have its own revisions, so the versions are beside the log, as a text:
its first line names the revision of the file that it describes, and the captured kinds. Each
further line is a uid with a version. Any later write makes the text invalid.
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import orjson

from inkube.storage import Attachments, StorageError

_NAME = "capture/versions"


class Versions(NamedTuple):
    """The resource versions of a captured state by uid, and the prefixes of keys that the capture
    covers."""

    by_uid: Mapping[str, str]
    prefixes: Sequence[str]


def write(file: Path, versions: Versions, revision: int) -> None:
    """Store the versions of the state at a revision. Raises StorageError."""
    try:
        Attachments(file).write(_NAME, _lines(versions, revision))
    except sqlite3.Error as error:
        raise StorageError(f"{file} cannot be written: {error}") from error


def _lines(versions: Versions, revision: int) -> Iterator[bytes]:
    yield orjson.dumps([revision, list(versions.prefixes)]) + b"\n"
    for uid, version in versions.by_uid.items():
        yield f"{uid} {version}\n".encode()


def read(file: Path, revision: int) -> Versions | None:
    """Return the versions of the state at a revision, or None if they are not known. Raises
    StorageError."""
    attachments = Attachments(file)
    try:
        parts = attachments.parts(_NAME)
        text = b"".join(attachments.read(_NAME, each.number) for each in parts)
    except sqlite3.Error as error:
        raise StorageError(f"{file} cannot be read: {error}") from error
    head, _, rest = text.partition(b"\n")
    described, prefixes = orjson.loads(head or b"[0, []]")
    if described != revision:
        return None
    pairs = (line.split(" ", 1) for line in rest.decode().splitlines())
    return Versions(dict(pairs), prefixes)
