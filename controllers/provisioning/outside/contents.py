"""Files of a repository at one of its branches, whoever holds them: the world, git, a directory.

In come a branch and edits, out come trees whose head moves with every change of their files.
What cannot be done is raised as

    RefNotFound     no such branch
    Unsupported     this place cannot do it, ever; the text says what
    TooMuch         more files or bytes than are read
"""

import hashlib
import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

MAX_FILES = 10_000
MAX_BYTES = 64 * 1024 * 1024
"""Of one tree; a repository with more is not one of dashboards."""


class RefNotFound(Exception):
    """There is no branch of that name."""


class Unsupported(Exception):
    """The place of these files cannot do that."""


class TooMuch(Exception):
    """More than `MAX_FILES` or `MAX_BYTES`."""

    def __init__(self) -> None:
        super().__init__(f"more than {MAX_FILES} files or {MAX_BYTES // 2**20} MiB to read")


class File(NamedTuple):
    """One file, its path relative to the repository."""

    path: str
    data: bytes

    @property
    def hash(self) -> str:
        """The blob's name in git."""
        head = b"blob %d\0" % len(self.data)
        return hashlib.sha1(head + self.data, usedforsecurity=False).hexdigest()


class Tree(NamedTuple):
    """All files of a branch, by path."""

    head: str
    files: Sequence[File]

    def below(self, path: str) -> list[File]:
        """The files below a directory, their paths relative to it."""
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
    """What a commit does to a file; no data removes it."""

    path: str
    data: bytes | None


class Contents(Protocol):
    """One place with files. Raises as the module and `hosts` say."""

    async def branches(self) -> list[Branch]:
        """All branches, by name."""
        ...

    async def tree(self, branch: str) -> Tree:
        """The files of a branch."""
        ...

    async def commit(self, branch: str, edits: Sequence[Edit], message: str, base: str = "") -> str:
        """Change files in one commit; the new head. A branch there is not begins as `base`."""
        ...

    async def history(self, branch: str) -> list[Commit]:
        """The commits of a branch, the newest first."""
        ...


def digest(name: str, files: Iterable[File]) -> str:
    """A head made up from a name and files: the same for the same content, 40 hex digits."""
    found = hashlib.sha1(f"{name}\0".encode(), usedforsecurity=False)
    for file in files:
        found.update(f"{file.path}\0{len(file.data)}\0".encode())
        found.update(file.data)
    return found.hexdigest()


class LocalContents:
    """A directory of the server's own disk; reads and writes block, so callers use threads."""

    def __init__(self, path: str) -> None:
        self._path = path

    def tree(self) -> Tree:
        """Every file that is not hidden. Raises RefNotFound where there is no directory."""
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
        """Change files; the new head. Links that lead elsewhere are not followed."""
        root = os.path.realpath(self._path)
        for edit in edits:
            path = os.path.join(root, edit.path)
            if os.path.commonpath([root, os.path.realpath(path)]) != root:
                raise Unsupported("path leads out of the directory")
            if edit.data is None:
                os.remove(path)
                continue
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as opened:
                opened.write(edit.data)
        return self.tree().head
