"""A source as named streams of bytes: folders, archives, compressed files, standard input.

The form of a stream is recognized by its first bytes, never by its name. Nothing is unpacked to the
disk, so a path in an archive is only a name. All bytes after decompression count towards one limit,
so an archive that expands without end is an error.
"""

import bz2
import contextlib
import gzip
import io
import lzma
import os
import shutil
import stat
import sys
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple

from inkube.apiserver.dumps.findings import DumpError, Findings

HEAD = 64 * 1024
"""The number of bytes that decide the form of a stream."""
DEPTH = 4
"""The most archives and compressed streams inside each other."""
FILES = 5_000_000
"""The most files of a source."""
_COMPRESSIONS: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
_BROKEN = (EOFError, tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, RuntimeError)
"""Errors of damaged and encrypted archives; bz2 and gzip raise OSError."""


class Budget:
    """Counts the bytes that a source contains after decompression."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.bytes = 0
        self.files = 0

    def take(self, size: int) -> None:
        """Count bytes. Raises DumpError above the limit."""
        self.bytes += size
        if self.bytes > self.limit:
            raise DumpError(
                f"the source contains more than {self.limit / 2**30:g} GiB after decompression; "
                "if that is right, raise --max-size"
            )

    def take_file(self) -> None:
        """Count a file. Raises DumpError above the limit."""
        self.files += 1
        if self.files > FILES:
            raise DumpError(f"the source contains more than {FILES} files")


class Input(NamedTuple):
    """A file of a source: its path with "/", and its content, which must be read before the next
    input. `file` is the file itself, if it is neither compressed nor in an archive."""

    path: str
    stream: io.BufferedReader
    file: Path | None = None

    @property
    def head(self) -> bytes:
        """The first HEAD bytes at most, without reading them."""
        return self.stream.peek(HEAD)[:HEAD]


def inputs(source: Path | None, budget: Budget, findings: Findings) -> Iterator[Input]:
    """Yield the files of a source; None is standard input. Raises DumpError, OSError."""
    if source is None:
        if sys.stdin is None:
            raise DumpError("standard input is closed: name a file or a folder instead of -")
        with tempfile.TemporaryFile() as spool:
            shutil.copyfileobj(_counted(sys.stdin.buffer, Budget(budget.limit)), spool, 2**20)
            spool.seek(0)
            yield from _inside(Input("<stdin>", _counted(spool, budget)), budget, 0, findings)
    elif source.is_dir():
        yield from _of_folder(source, budget, findings)
    else:
        yield from _of_file(source, source.name, budget, findings)


def spooled(stream: IO[bytes]) -> "contextlib.closing[IO[bytes]]":
    """Return a temporary file with the content of an input, for readers that go back and forth."""
    spool = tempfile.TemporaryFile()  # noqa: SIM115 # the caller closes it
    try:
        shutil.copyfileobj(stream, spool, 2**20)
        spool.seek(0)
    except BaseException:
        spool.close()
        raise
    return contextlib.closing(spool)


def _of_folder(folder: Path, budget: Budget, findings: Findings) -> Iterator[Input]:
    root = folder.resolve()

    def on_error(error: OSError) -> None:
        findings.add(f"it cannot be opened: {error.strerror}", str(error.filename))

    for at, folders, names in os.walk(root, onerror=on_error):
        folders.sort()
        files = set(names)
        for name in sorted([*names, *folders]):
            path = Path(at, name)
            relative = path.relative_to(root).as_posix()
            if path.is_symlink():  # a target inside the folder is read under its own name
                if not path.resolve().is_relative_to(root):
                    findings.add("a link that leads out of the folder", relative)
            elif name in files:
                yield from _of_file(path, relative, budget, findings)


def _of_file(path: Path, name: str, budget: Budget, findings: Findings) -> Iterator[Input]:
    if not stat.S_ISREG(path.stat().st_mode):
        findings.add("a device, a pipe or a socket", name)
        return
    try:
        file = path.open("rb")
    except PermissionError as error:
        findings.add(f"it cannot be opened: {error.strerror}", name)
        return
    with file:
        yield from _inside(Input(name, _counted(file, budget), path), budget, 0, findings)


def _inside(source: Input, budget: Budget, depth: int, findings: Findings) -> Iterator[Input]:
    """Yield a file, or the files inside if it is compressed or an archive."""
    head = source.head
    compression = next(
        (one for magic, one in _COMPRESSIONS.items() if head.startswith(magic)), None
    )
    is_archive = head[257:262] == b"ustar" or head.startswith((b"PK\x03\x04", b"PK\x05\x06"))
    if (compression or is_archive) and depth >= DEPTH:
        findings.add(f"an archive inside {DEPTH} others", source.path)
        return
    try:
        if compression is not None:
            path = source.path.removesuffix(PurePosixPath(source.path).suffix) or source.path
            plain = Input(path, _counted(compression(source.stream), budget))
            yield from _inside(plain, budget, depth + 1, findings)
        elif head[257:262] == b"ustar":
            yield from _of_tar(source, budget, depth + 1, findings)
        elif is_archive:
            yield from _of_zip(source, budget, depth + 1, findings)
        else:
            budget.take_file()
            yield source
    except (*_BROKEN, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # of the disk, not of the archive
        findings.add(f"a damaged archive: {str(error) or type(error).__name__}", source.path)


def _of_tar(source: Input, budget: Budget, depth: int, findings: Findings) -> Iterator[Input]:
    with tarfile.open(fileobj=source.stream, mode="r|") as archive:
        for member in archive:
            path = f"{source.path}/{member.name}"
            if _leaves(member.name):
                findings.add("its path leaves the archive", path)
            elif member.isfile() and (content := archive.extractfile(member)) is not None:
                inner = Input(_inner(source.path, member.name), _counted(content, budget))
                yield from _inside(inner, budget, depth, findings)
            elif not (member.isdir() or member.issym() or member.islnk()):
                findings.add("a device, a pipe or a socket", path)
            archive.members.clear()  # type: ignore[attr-defined] # else it grows with every member


def _of_zip(source: Input, budget: Budget, depth: int, findings: Findings) -> Iterator[Input]:
    with spooled(source.stream) as spool, zipfile.ZipFile(spool) as archive:
        for member in archive.infolist():
            if _leaves(member.filename):
                findings.add("its path leaves the archive", f"{source.path}/{member.filename}")
            elif not member.is_dir():
                with archive.open(member) as content:
                    path = _inner(source.path, member.filename)
                    yield from _inside(
                        Input(path, _counted(content, budget)), budget, depth, findings
                    )


def _inner(outer: str, name: str) -> str:
    """Return the path of a file in an archive. Its first folder need not be unique."""
    name = name.removeprefix("./")
    folder = PurePosixPath(outer).parent.as_posix()
    return name if folder == "." else f"{folder}/{name}"


def _leaves(name: str) -> bool:
    return name.startswith("/") or ".." in PurePosixPath(name).parts


class _Counted(io.RawIOBase):
    """A stream that counts its bytes, and fills the buffers of its reader."""

    def __init__(self, inner: Any, budget: Budget) -> None:
        super().__init__()
        self._inner = inner
        self._budget = budget

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view, done = memoryview(buffer), 0
        while done < len(view):
            piece = self._inner.read(len(view) - done)
            if not piece:
                break
            view[done : done + len(piece)] = piece
            done += len(piece)
        self._budget.take(done)
        return done


def _counted(inner: Any, budget: Budget) -> io.BufferedReader:
    return io.BufferedReader(_Counted(inner, budget), HEAD)
