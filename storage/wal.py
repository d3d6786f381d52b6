"""The `-wal` of a data file, read without SQLite: whether commits in it are damaged.

SQLite ends a `-wal` silently at the first frame whose checksum is wrong, because a process can end
in the middle of a frame. Commits after such a frame are lost with it, as are all of a `-wal` that
is gone. This module tells damage from an unfinished write: a later frame of the same `-wal`
completes a commit, or the `-shm` of the processes that ended counts more commits
(sqlite.org/fileformat2.html, sqlite.org/walformat.html).
Used before a file is opened, by `check` and by `repair`.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from inkube.storage import files

HEADER, FRAME_HEADER, INDEX_HEADER = 32, 24, 48
MAGIC = 0x377F0682
"""The first word; its last bit is set if checksums are of big-endian words."""
ATTEMPTS = 3
"""How often a `-wal` is read again that a server may be writing."""

Sums = tuple[int, int]
NONE: Sums = (0, 0)


class Frame(NamedTuple):
    """One version of a page. `commits` is true for the last frame of a transaction. `is_valid`: its
    checksum continues that of the frame before; `is_whole`: it continues the one that is written in
    the frame before."""

    page: int
    commits: bool
    data: bytes
    is_valid: bool
    is_whole: bool


class Contents(NamedTuple):
    """The frames of a `-wal`, and how many of them SQLite uses. `damage` says what is wrong, or is
    ""."""

    frames: list[Frame]
    used: int
    damage: str


def damage(path: Path) -> str:
    """Return what is wrong with the `-wal` of a data file, or "". Servers can write to it at the
    same time. Raises OSError."""
    if files.uses_index(path):
        return ""  # closing it would drop the locks of this process, which has checked it before
    found = ""
    for _ in range(ATTEMPTS):
        before = _index(path)
        if not (found := read(path).damage) or _index(path) != before:
            return ""  # a server has written meanwhile; one that runs has read it before
    return found


def read(path: Path) -> Contents:
    """Return the contents of the `-wal` of a data file that no process uses. Raises OSError."""
    wal = path.with_name(f"{path.name}-wal")
    try:
        content = wal.read_bytes()
    except FileNotFoundError:
        content = b""
    if len(content) < HEADER:
        return Contents([], 0, _lost(path))
    magic, _, size, _, *salts, first, second = struct.unpack(">8I", content[:HEADER])
    order = ">" if magic & 1 else "<"
    sums = _sums(content[:24], order, NONE)
    is_sound = magic | 1 == MAGIC | 1 and sums == (first, second)
    if not is_sound and len(content) >= HEADER + FRAME_HEADER + 512:
        size = size if size in (512 << n for n in range(8)) else 4096
    elif not is_sound:
        return Contents([], 0, _lost(path))
    frames = list(_frames(content, size, order, tuple(salts), sums if is_sound else None))
    used = max(
        (n for n, frame in enumerate(frames, 1) if frame.is_valid and frame.commits), default=0
    )
    return Contents(frames, used, _damage(path, frames, used, tuple(salts), is_sound=is_sound))


def _damage(
    path: Path, frames: list[Frame], used: int, salts: tuple[int, ...], *, is_sound: bool
) -> str:
    if not is_sound:
        return "the header of the -wal is damaged"
    index = _index(path)
    if index is None or index.salts != salts or (not used and index.frames <= index.copied):
        known = 0
    else:
        known = index.frames
    for number, frame in enumerate(frames[used:], used + 1):
        if not frame.is_valid and frame.is_whole and frame.commits:
            known = max(known, number)
    if known <= used:
        return ""
    return (
        f"frame {used + 1} of the -wal or one after it is damaged, and commits up to frame {known}"
    )


def _lost(path: Path) -> str:
    """Return what is wrong if a `-wal` without any frame had commits that are not in the file."""
    index = _index(path)
    if index is None or index.frames <= index.copied:
        return ""
    return f"the -wal is missing or empty, and commits up to frame {index.frames} were in it"


def _frames(
    content: bytes, size: int, order: str, salts: tuple[int, ...], sums: Sums | None
) -> Iterator[Frame]:
    """Yield the frames with the salts of the header. They are followed by those of an earlier
    `-wal`, which have others; a damaged one in between has an empty page."""
    written: Sums | None = sums
    step = FRAME_HEADER + size
    for start in range(HEADER, len(content) - step + 1, step):
        page, after, *found, first, second = struct.unpack_from(">6I", content, start)
        data = content[start + FRAME_HEADER : start + step]
        is_ours = tuple(found) == salts
        head = content[start : start + 8]
        is_valid = is_whole = False
        if is_ours:
            # usually both are the same
            is_whole = written is not None and _both(head, data, order, written) == (first, second)
            is_valid = is_whole if sums == written else False
        sums = (first, second) if is_valid else None
        written = (first, second) if is_ours else None
        yield Frame(page if is_ours else 0, is_ours and after > 0, data, is_valid, is_whole)


def _both(head: bytes, data: bytes, order: str, sums: Sums) -> Sums:
    return _sums(data, order, _sums(head, order, sums))


def _sums(data: bytes, order: str, sums: Sums) -> Sums:
    first, second = sums
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second


class _Index(NamedTuple):
    """The header of a `-shm`: the number of committed frames, how many of them a checkpoint has
    copied into the file, and the salts of their `-wal`."""

    frames: int
    copied: int
    salts: tuple[int, ...]
    header: bytes


def _index(path: Path) -> _Index | None:
    """Return the header of the `-shm`, or None if there is none or if it is damaged, which changes
    nothing: the next process makes another one."""
    try:
        with path.with_name(f"{path.name}-shm").open("rb") as file:
            header = file.read(INDEX_HEADER)
            file.seek(files.INDEX_HEADER)
            copied = file.read(4)
    except OSError:
        return None
    if len(header) < INDEX_HEADER or len(copied) < 4:
        return None
    sums = struct.unpack_from("=2I", header, 40)
    if not header[12] or _sums(header[:40], "=", NONE) != sums:
        return None
    (frames,) = struct.unpack_from("=I", header, 16)
    (known,) = struct.unpack("=I", copied)
    return _Index(frames, known, struct.unpack_from(">2I", header, 32), header)
