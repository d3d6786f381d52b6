"""Paths to files: standard input, single files, and the manifests in folders."""

import codecs
import fnmatch
import gzip
import io
import os
import stat
import sys
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

from inkube.apiserver.validate.plan import InputError

STDIN = "-"
SUFFIXES = frozenset({".yaml", ".yml", ".json", ".jsonl", ".ndjson"})
_PACKED = ".gz"
_GZIP = b"\x1f\x8b"
MOST = 64 * 2**20
"""The largest number of bytes of a file or of standard input, packed and unpacked."""


@dataclass(frozen=True, slots=True)
class File:
    """A file to check."""

    path: str
    is_named: bool
    """Whether the user named it, so that it has to be a manifest."""
    content: bytes | None = None
    """The bytes of what can be read only once, such as standard input; None for a file."""

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
    """Return the content of a file, unpacked. Raises InputError if it cannot be read or is too
    large."""
    try:
        with _opened(file) as stream:
            packed = stream.peek(2)[:2] == _GZIP
            content = (gzip.GzipFile(fileobj=stream) if packed else stream).read(MOST + 1)
    except OSError as error:
        raise InputError(f"{file.name} cannot be read: {error.strerror or error}") from error
    except (EOFError, zlib.error) as error:
        raise InputError(f"{file.name} cannot be read: it is a damaged gzip file") from error
    if len(content) > MOST:
        raise InputError(
            f"{file.name} contains more than {MOST >> 20} MiB{' unpacked' if packed else ''}: "
            "split it, or leave it out"
        )
    return _in_utf8(content)


def _in_utf8(content: bytes) -> bytes:
    """Return the text without its mark of UTF-8, or recoded: PowerShell writes UTF-16 with `>`, and
    the documents of a file are found by its bytes."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            return content.decode("utf-16").encode()
        except UnicodeError:
            return content  # the parser says what is wrong
    return content.removeprefix(codecs.BOM_UTF8)


def begins_with(file: File, mark: bytes) -> bool:
    """Return whether a file of any size begins with these bytes. Raises InputError."""
    try:
        with _opened(file) as stream:
            return stream.peek(len(mark)).startswith(mark)
    except OSError as error:
        raise InputError(f"{file.name} cannot be read: {error.strerror}") from error


def _opened(file: File) -> io.BufferedReader:
    if file.content is not None:
        return io.BufferedReader(io.BytesIO(file.content))
    return open(file.path, "rb")


def _of_path(path: str, patterns: tuple[str, ...]) -> Iterator[File]:
    if path == STDIN:
        if sys.stdin is None:
            raise InputError("standard input is closed: name a file instead of -")
        yield File(path, is_named=True, content=sys.stdin.buffer.read(MOST + 1))
    elif os.path.isdir(path):
        yield from (File(each, is_named=False) for each in _walk(Path(path), patterns))
    elif not os.path.exists(path):
        raise InputError(f"{path}: no such file or folder")
    elif not is_excluded(path, patterns):
        yield File(path, is_named=True, content=None if _is_regular(path) else _beginning(path))


def _beginning(path: str) -> bytes:
    """Return the bytes of a pipe, such as `<(kustomize build)`, up to the limit."""
    with open(path, "rb") as stream:
        return stream.read(MOST + 1)


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
            path = os.path.normpath(os.path.join(parent, name))
            if not is_excluded(str(within / name), patterns) and _is_regular(path):
                yield path


def _is_regular(path: str) -> bool:
    """Return whether a file can be read again and has an end: no pipe, socket or device, and no
    link that leads nowhere."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False


def is_manifest_name(name: str) -> bool:
    """Return whether a file of that name can contain objects."""
    return PurePath(name.removesuffix(_PACKED)).suffix in SUFFIXES


def is_excluded(path: str, patterns: Iterable[str]) -> bool:
    """Return whether a pattern matches the path, one of its folders, or its last part."""
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
