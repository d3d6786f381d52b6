"""Paths to files: standard input, single files, and the manifests in folders."""

import fnmatch
import gzip
import io
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

from inkube.apiserver.validate.plan import InputError

STDIN = "-"
SUFFIXES = frozenset({".yaml", ".yml", ".json", ".jsonl", ".ndjson"})
_PACKED = ".gz"
MOST = 64 * 2**20
"""The largest number of bytes of an unpacked file."""


@dataclass(frozen=True, slots=True)
class File:
    """A file to check."""

    path: str
    is_named: bool
    """Whether the user named it, so that it has to be a manifest."""
    content: bytes | None = None
    """The bytes of standard input, None for a file."""

    @property
    def name(self) -> str:
        """The name that findings show."""
        return "<stdin>" if self.path == STDIN else self.path


def find(paths: Iterable[str], exclude: Iterable[str] = ()) -> list[File]:
    """Return each file once, those of a folder in the order of their names. Raises InputError."""
    patterns = tuple(exclude)
    found: dict[str, File] = {}
    for path in paths:
        for file in _of_path(path, patterns):
            found.setdefault(os.path.normpath(file.path), file)
    return list(found.values())


def read(file: File) -> bytes:
    """The content of a file, unpacked. Raises InputError."""
    try:
        content = Path(file.path).read_bytes() if file.content is None else file.content
        return _unpacked(file.name, content)
    except (OSError, EOFError) as error:
        raise InputError(f"{file.name} cannot be read: {error}") from error


def _unpacked(path: str, body: bytes) -> bytes:
    if body[:2] != b"\x1f\x8b":
        return body.removeprefix(b"\xef\xbb\xbf")  # an optional mark of UTF-8
    with gzip.GzipFile(fileobj=io.BytesIO(body)) as stream:
        content = stream.read(MOST + 1)
    if len(content) > MOST:
        raise InputError(f"{path} is larger than {MOST >> 20} MiB when it is unpacked")
    return content


def _of_path(path: str, patterns: tuple[str, ...]) -> Iterator[File]:
    if path == STDIN:
        yield File(path, is_named=True, content=sys.stdin.buffer.read())
    elif os.path.isdir(path):
        yield from (File(each, is_named=False) for each in _walk(Path(path), patterns))
    elif not os.path.exists(path):
        raise InputError(f"{path}: no such file or folder")
    elif not is_excluded(path, patterns):
        yield File(path, is_named=True)


def _walk(folder: Path, patterns: tuple[str, ...]) -> Iterator[str]:
    """Yield the manifests below a folder, without hidden files and folders."""
    for parent, folders, names in os.walk(folder):
        within = PurePath(parent).relative_to(folder)
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and not is_excluded(str(within / name), patterns)
        )
        for name in sorted(names):
            if name.startswith(".") or not is_manifest_name(name):
                continue
            if not is_excluded(str(within / name), patterns):
                yield os.path.normpath(os.path.join(parent, name))


def is_manifest_name(name: str) -> bool:
    """Whether a file of that name can contain objects."""
    return PurePath(name.removesuffix(_PACKED)).suffix in SUFFIXES


def is_excluded(path: str, patterns: Iterable[str]) -> bool:
    """Whether a pattern matches the path, one of its folders, or its last part."""
    parts = PurePath(path).parts
    wholes = ["/".join(parts[: end + 1]) for end in range(len(parts))]
    return any(
        fnmatch.fnmatch(whole, pattern)
        or fnmatch.fnmatch(whole, pattern.removeprefix("**/"))
        or ("/" not in pattern and fnmatch.fnmatch(part, pattern))
        for pattern in (
            each.rstrip("/").removeprefix("./").removesuffix("/**") for each in patterns
        )
        for whole, part in zip(wholes, parts, strict=True)
    )
