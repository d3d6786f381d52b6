"""Files in memory, and the commands on them that `kubectl cp` needs.

A container has such files if a `Script` defines files for it, or if it is a Python function.
"""

import io
import posixpath
import tarfile
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Protocol

MAX_BYTES = 16 * 1024 * 1024
"""Bytes of all files of a container, at most."""
MAX_FILES = 1000
"""Files of a container, at most."""


class Process(Protocol):
    """The streams of a command."""

    async def read(self) -> bytes:
        """Return the next bytes of stdin, or b"" at its end."""
        ...

    async def write(self, data: bytes, *, is_error: bool = False) -> None:
        """Send bytes to stdout, or to stderr if `is_error`."""
        ...


class FilesTooLargeError(Exception):
    """Too many files, or too many bytes in all files."""


class Files:
    """Contents by absolute path."""

    def __init__(self, contents: Mapping[str, bytes] | None = None) -> None:
        self._contents: dict[str, bytes] = {}
        for path, data in (contents or {}).items():
            self[path] = data

    def __getitem__(self, path: str) -> bytes:
        return self._contents[_absolute(path)]

    def __setitem__(self, path: str, data: bytes) -> None:
        path = _absolute(path)
        others = {**self._contents, path: data}
        if len(others) > MAX_FILES or sum(map(len, others.values())) > MAX_BYTES:
            raise FilesTooLargeError(f"at most {MAX_FILES} files of {MAX_BYTES} bytes together fit")
        self._contents = others

    def __contains__(self, path: str) -> bool:
        return _absolute(path) in self._contents

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._contents))

    def is_folder(self, path: str) -> bool:
        """Return whether the path contains files."""
        head = _absolute(path).rstrip("/") + "/"
        return head == "/" or any(name.startswith(head) for name in self._contents)

    def below(self, path: str) -> list[str]:
        """Return the absolute path of a file, or of all files below a folder, sorted."""
        path = _absolute(path)
        if path in self._contents:
            return [path]
        head = path.rstrip("/") + "/"
        return sorted(name for name in self._contents if name.startswith(head))


def command_function(
    command: list[str],
) -> "Callable[[Files, list[str], Process], Awaitable[int]] | None":
    """Return the coroutine function for a command, or None if the command is unknown."""
    return _COMMANDS.get(posixpath.basename(command[0])) if command else None


async def _cat(files: Files, arguments: list[str], process: Process) -> int:
    if not arguments or arguments == ["-"]:
        while data := await process.read():
            await process.write(data)
        return 0
    failed = 0
    for path in arguments:
        if path in files:
            await process.write(files[path])
        else:
            await _write_error(process, f"cat: {path}: No such file or directory")
            failed = 1
    return failed


async def _ls(files: Files, arguments: list[str], process: Process) -> int:
    folder = _absolute(next((one for one in arguments if not one.startswith("-")), "/"))
    found = files.below(folder)
    if not found:
        await _write_error(process, f"ls: cannot access '{folder}': No such file or directory")
        return 2
    head = folder.rstrip("/") + "/"
    names = sorted(
        {name.removeprefix(head).split("/")[0] if name != folder else name for name in found}
    )
    await process.write("".join(f"{name}\n" for name in names).encode())
    return 0


async def _test(files: Files, arguments: list[str], process: Process) -> int:
    if len(arguments) != 2 or arguments[0] not in ("-d", "-e", "-f"):
        await _write_error(process, "test: only -d, -e and -f are known")
        return 2
    kind, path = arguments
    is_there = {"-d": files.is_folder(path), "-f": path in files}.get(
        kind, path in files or files.is_folder(path)
    )
    return 0 if is_there else 1


async def _echo(files: Files, arguments: list[str], process: Process) -> int:
    await process.write((" ".join(arguments) + "\n").encode())
    return 0


async def _tar(files: Files, arguments: list[str], process: Process) -> int:
    """Run `tar cf - PATH…` or `tar -xmf - [-C FOLDER]`. Returns the exit code."""
    flags = [one for one in arguments if not one.startswith("--")]
    mode = flags.pop(0).lstrip("-") if flags else ""
    folder = "/"
    if "-C" in flags:
        at = flags.index("-C")
        folder = flags[at + 1] if len(flags) > at + 1 else "/"
        del flags[at : at + 2]
    paths = [one for one in flags if one != "-"]
    if "c" in mode:
        return await _pack(files, paths, process)
    if "x" in mode:
        return await _unpack(files, folder, process)
    await _write_error(process, "tar: only c and x are known")
    return 2


async def _pack(files: Files, paths: list[str], process: Process) -> int:
    packed = io.BytesIO()
    failed = 0
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path in paths:
            found = files.below(path)
            if not found:
                await _write_error(process, f"tar: {path}: Cannot stat: No such file or directory")
                failed = 2
            for name in found:
                info = tarfile.TarInfo(name.lstrip("/"))
                info.size = len(files[name])
                info.mode = 0o644
                archive.addfile(info, io.BytesIO(files[name]))
    if not failed:
        await process.write(packed.getvalue())
    return failed


async def _unpack(files: Files, folder: str, process: Process) -> int:
    packed = bytearray()
    while data := await process.read():
        packed += data
        if len(packed) > 2 * MAX_BYTES:
            await _write_error(process, "tar: too large")
            return 2
    try:
        with tarfile.open(fileobj=io.BytesIO(bytes(packed)), mode="r:") as archive:
            for info in archive:
                content = archive.extractfile(info) if info.isreg() else None
                if content is not None:
                    files[posixpath.join(folder, info.name.lstrip("/"))] = content.read(
                        MAX_BYTES + 1
                    )
    except (tarfile.TarError, FilesTooLargeError) as error:
        await _write_error(process, f"tar: {error}")
        return 2
    return 0


async def _true(files: Files, arguments: list[str], process: Process) -> int:
    return 0


async def _false(files: Files, arguments: list[str], process: Process) -> int:
    return 1


async def _write_error(process: Process, text: str) -> None:
    await process.write(f"{text}\n".encode(), is_error=True)


def _absolute(path: str) -> str:
    return posixpath.normpath(posixpath.join("/", path))


_COMMANDS: dict[str, Callable[[Files, list[str], Process], Awaitable[int]]] = {
    "cat": _cat, "echo": _echo, "false": _false, "ls": _ls, "tar": _tar, "test": _test,
    "true": _true,
}  # fmt: skip
