"""The files of a branch of a repository in any location: the world, git, a directory.

Input: a branch and edits. Output: trees; the head of a tree changes with its files. Errors:

    RefNotFound     the branch does not exist
    Unsupported     this location never supports the operation; the text gives the reason
    TooMuch         more files or bytes than the limits
"""

import contextlib
import hashlib
import os
import secrets
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

MAX_FILES = 10_000
MAX_BYTES = 64 * 1024 * 1024
"""The limits of one tree; a larger repository is not a repository of dashboards."""


class RefNotFound(Exception):
    """The branch does not exist."""


class Unsupported(Exception):
    """The location of these files does not support the operation."""


class TooMuch(Exception):
    """The files exceed `MAX_FILES` or `MAX_BYTES`."""

    def __init__(self) -> None:
        super().__init__(f"more than {MAX_FILES} files or {MAX_BYTES // 2**20} MiB to read")


class File(NamedTuple):
    """One file; its path is relative to the repository."""

    path: str
    data: bytes

    @property
    def hash(self) -> str:
        """The object name of the blob in git."""
        head = b"blob %d\0" % len(self.data)
        return hashlib.sha1(head + self.data, usedforsecurity=False).hexdigest()


class Tree(NamedTuple):
    """All files of a branch, by path."""

    head: str
    files: Sequence[File]

    def below(self, path: str) -> list[File]:
        """Return the files below a directory, with paths relative to it."""
        prefix = f"{path}/" if path else ""
        return [
            File(file.path.removeprefix(prefix), file.data)
            for file in self.files
            if file.path.startswith(prefix)
        ]


class Branch(NamedTuple):
    """A branch and the commit it points to."""

    name: str
    head: str
    is_protected: bool = False


class Commit(NamedTuple):
    """One commit; `created` is milliseconds since the epoch."""

    ref: str
    message: str
    author: str
    created: int
    username: str = ""
    avatar: str = ""


class Edit(NamedTuple):
    """The change of a file in a commit; None as data removes the file."""

    path: str
    data: bytes | None


class Contents(Protocol):
    """A location with files. Raises the errors of this module and of `hosts`."""

    async def branches(self) -> list[Branch]:
        """Return all branches, by name."""
        ...

    async def tree(self, branch: str) -> Tree:
        """Return the files of a branch."""
        ...

    async def commit(self, branch: str, edits: Sequence[Edit], message: str, base: str = "") -> str:
        """Change files in one commit and return the new head. A new branch starts from `base`."""
        ...

    async def history(self, branch: str) -> list[Commit]:
        """Return the commits of a branch, the newest first."""
        ...


def digest(name: str, files: Iterable[File]) -> str:
    """Return a generated head for a name and files, with 40 hex digits: the same for the same
    content."""
    found = hashlib.sha1(f"{name}\0".encode(), usedforsecurity=False)
    for file in files:
        found.update(f"{file.path}\0{len(file.data)}\0".encode())
        found.update(file.data)
    return found.hexdigest()


class LocalContents:
    """A directory on the disk of the server. Reads and writes block, so callers use threads."""

    def __init__(self, path: str) -> None:
        self._path = path

    def tree(self) -> Tree:
        """Return every file that is not hidden. Raises RefNotFound if the directory does not exist,
        and TooMuch."""
        if not os.path.isdir(self._path):
            raise RefNotFound
        files: list[File] = []
        size = 0
        for folder, folders, names in os.walk(self._path):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(names):
                path = os.path.join(folder, name)
                if name.startswith(".") or not os.path.isfile(path) or os.path.islink(path):
                    continue
                size += os.path.getsize(path)
                if len(files) >= MAX_FILES or size > MAX_BYTES:
                    raise TooMuch
                with open(path, "rb") as opened:
                    files.append(File(os.path.relpath(path, self._path), opened.read()))
        files.sort()
        return Tree(digest("", files), files)

    def write(self, edits: Sequence[Edit]) -> str:
        """Change files and return the new head. Raises Unsupported for links out of the
        directory."""
        root = os.path.realpath(self._path)
        for edit in edits:
            path = os.path.join(root, edit.path)
            if os.path.commonpath([root, os.path.realpath(path)]) != root:
                raise Unsupported("path leads out of the directory")
            if edit.data is None:
                os.remove(path)
                continue
            os.makedirs(os.path.dirname(path), exist_ok=True)
            _put(path, edit.data)
        return self.tree().head


def _put(path: str, data: bytes) -> None:
    """Replace a file in one step. The draft has a hidden name, which trees leave out."""
    folder, name = os.path.split(path)
    draft = os.path.join(folder, f".{name[:200]}.{secrets.token_hex(4)}.draft")
    try:
        with open(draft, "xb") as opened:
            opened.write(data)
            opened.flush()
            os.fsync(opened.fileno())
        os.replace(draft, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.remove(draft)
