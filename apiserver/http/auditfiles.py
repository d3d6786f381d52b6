"""The file of an audit log: its lines, and its rotation by size.

A full file is renamed with the time in its name, and another one begins. Workers that share a file
lock it for each line (flock), so that only one of them renames it, and none continues a part of a
line that another one wrote to a full disk. Follows apiserver/plugin/pkg/audit/log, audit/format.go
(EventString) and the files of lumberjack.
"""

import contextlib
import errno
import gzip
import logging
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Literal, NamedTuple

import orjson

from inkube import storage
from inkube.apiserver.http.audit import Sink
from inkube.schemas.golang import quote
from inkube.schemas.objects import Object

if sys.platform != "win32":
    import fcntl

logger = logging.getLogger(__name__)

STDOUT = "-"
Mode = Literal["batch", "blocking", "blocking-strict"]
"""Whether a request waits until its events are stored, and fails if its first one is not. A file is
written at once in every mode."""
_MEGABYTE = 1024 * 1024
_COMPRESSED = ".gz"
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP)
"""Errors of file systems without locks. The log is then written without them."""
_STAMP = "%Y-%m-%dT%H-%M-%S"


class Settings(NamedTuple):
    """The form and the rotation of a log. 0 means without a limit."""

    format: Literal["json", "legacy"] = "json"
    max_megabytes: int = 0
    """The size at which a file is full."""
    max_files: int = 0
    """The number of full files that are kept."""
    max_days: int = 0
    """The age of full files that are kept."""
    compresses: bool = False
    """Whether full files are compressed with gzip."""
    mode: Mode = "blocking"


class AuditFile:
    """Appends lines of events. `now` returns the time."""

    def __init__(
        self,
        path: Path,
        settings: Settings | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._path = path
        self._settings = settings or Settings()
        self._now = now
        self._line = _legacy_line if self._settings.format == "legacy" else orjson.dumps
        self._is_regular = str(path) != STDOUT and (path.is_file() or not path.exists())
        """Other files, such as pipes, have no size, no end and no lock."""
        self._rotates = bool(self._settings.max_megabytes) and self._is_regular
        self._ends_line = True
        """Whether a file that is not regular ends with a whole line of this process."""
        self._file = self._open()

    def _open(self) -> IO[bytes]:
        if str(self._path) == STDOUT:
            # a file of its own, so that closing it leaves the process its standard output
            return open(os.dup(sys.stdout.fileno()), "wb", buffering=0)
        storage.wholefiles.make_private(self._path)  # bodies of Secrets and tokens
        mode = "a+b" if self._is_regular else "ab"
        return open(self._path, mode, buffering=0, opener=_private)

    @property
    def is_strict(self) -> bool:
        return self._settings.mode == "blocking-strict"

    async def flush(self) -> None:
        """Nothing to wait for."""

    def close(self) -> None:
        self._file.close()

    def append(self, event: Object) -> None:
        line = self._line(event) + b"\n"
        with self._locked(len(line)):
            self._write(line if self._ends_with_line() else b"\n" + line)

    def _write(self, line: bytes) -> None:
        """Write a whole line, or raise OSError. A full disk can take a part of it: the next line
        then does not continue it."""
        rest = memoryview(line)
        try:
            while rest:
                written = self._file.write(rest)
                if written is None:  # standard output that others have made non-blocking
                    raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
                rest = rest[written:]
        finally:
            if len(rest) < len(line):
                self._ends_line = line[len(line) - len(rest) - 1] == ord("\n")

    @contextlib.contextmanager
    def _locked(self, size: int) -> Iterator[None]:
        """In the block, this process alone writes to the file, which has room for this number of
        bytes."""
        try:
            self._lock()
            while self._rotates and not self._has_room(size):
                self._lock()
            yield
        finally:
            self._unlock()

    def _lock(self) -> None:
        """Lock the file until it is unlocked or closed. On Windows, no other process writes to it,
        because there are no workers."""
        if sys.platform != "win32" and self._is_regular:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX)
            except OSError as error:
                if error.errno not in _NO_LOCKS:
                    raise

    def _unlock(self) -> None:
        if sys.platform != "win32" and self._is_regular:
            with contextlib.suppress(OSError):  # it was not locked either
                fcntl.flock(self._file, fcntl.LOCK_UN)

    def _has_room(self, size: int) -> bool:
        """Return whether the open file is the present one and has room for bytes. If not, open the
        present one, without a lock."""
        own = os.fstat(self._file.fileno())
        try:
            is_present = os.path.samestat(own, self._path.stat())
        except FileNotFoundError:
            is_present = False
        if not is_present:  # another worker has renamed it
            self._reopen()
        elif own.st_size and own.st_size + size > self._settings.max_megabytes * _MEGABYTE:
            self._rotate()
        else:
            return True
        return False

    def _ends_with_line(self) -> bool:
        """Return whether the log is empty or ends with a whole line."""
        if not self._is_regular:
            return self._ends_line
        if not self._file.seek(0, os.SEEK_END):
            return True
        self._file.seek(-1, os.SEEK_END)
        return self._file.read(1) == b"\n"

    def _reopen(self) -> None:
        """Open the file of this name, and close the one that is open, which ends its lock."""
        opened = self._open()
        self._file.close()
        self._file = opened

    def _rotate(self) -> None:
        """Rename the full file, begin another one, and remove files beyond the limits."""
        moment = self._now().astimezone(UTC)
        target = self._named(moment)
        while target.exists() or _compressed(target).exists():  # of the same millisecond
            moment += timedelta(milliseconds=1)
            target = self._named(moment)
        if sys.platform == "win32":
            self._file.close()  # an open file cannot be renamed
        self._path.rename(target)
        self._reopen()
        if self._settings.compresses:
            try:
                _compress(target)
            except OSError as error:
                logger.warning("%s stays uncompressed: %s", target, error)
        full = self._full_files()
        kept = full[: self._settings.max_files] if self._settings.max_files else full
        oldest = moment - timedelta(days=self._settings.max_days)
        for begun, path in full:
            is_old = bool(self._settings.max_days) and begun < oldest
            if is_old or (begun, path) not in kept:
                path.unlink(missing_ok=True)

    def _named(self, moment: datetime) -> Path:
        """Return the path of a file that was full at a time."""
        stamp = f"{moment:{_STAMP}}.{moment.microsecond // 1000:03}"
        return self._path.with_name(f"{self._path.stem}-{stamp}{self._path.suffix}")

    def _full_files(self) -> Sequence[tuple[datetime, Path]]:
        """Return the full files of this log with their times, the newest first."""
        found = []
        for path in self._path.parent.glob(f"{self._path.stem}-*{self._path.suffix}*"):
            text = path.name.removeprefix(f"{self._path.stem}-").removesuffix(_COMPRESSED)
            text = text.removesuffix(self._path.suffix)
            try:
                moment = datetime.strptime(text, f"{_STAMP}.%f").replace(tzinfo=UTC)
            except ValueError:
                continue  # a file of somebody else
            found.append((moment, path))
        return sorted(found, reverse=True)


def _compressed(path: Path) -> Path:
    return path.with_name(path.name + _COMPRESSED)


def _compress(path: Path) -> None:
    """Replace a file by a compressed one. Raises OSError; the file then remains."""
    target = _compressed(path)
    with path.open("rb") as plain:
        descriptor = _private(str(target), os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            with open(descriptor, "wb") as file, gzip.GzipFile(fileobj=file, mode="wb") as packed:
                shutil.copyfileobj(plain, packed)
        except OSError:
            target.unlink()
            raise
    path.unlink()


class Truncated:
    """A sink that receives no event above a number of bytes. Larger events lose their bodies, and
    are dropped if that is not enough (apiserver/plugin/pkg/audit/truncate)."""

    def __init__(self, sink: Sink, max_event_bytes: int) -> None:
        self._sink = sink
        self._limit = max_event_bytes

    @property
    def is_strict(self) -> bool:
        return self._sink.is_strict

    def append(self, event: Object) -> None:
        if _size(event) > self._limit and event["level"] in ("Request", "RequestResponse"):
            bodies = ("requestObject", "responseObject")
            kept = {name: value for name, value in event.items() if name not in bodies}
            annotations = {**event.get("annotations", {}), "audit.k8s.io/truncated": "true"}
            event = {**kept, "annotations": annotations}
        if _size(event) > self._limit:
            raise OSError("event is too large even after truncating")
        self._sink.append(event)

    async def flush(self) -> None:
        await self._sink.flush()

    def close(self) -> None:
        self._sink.close()


def _size(event: Object) -> int:
    return len(orjson.dumps(event)) + 1  # and the end of the line


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, storage.wholefiles.PRIVATE)


def _legacy_line(event: Object) -> bytes:
    """Return the line of the format `legacy`."""
    user, other = event.get("user") or {}, event.get("impersonatedUser")
    response = event.get("responseStatus") or {}
    members = {
        "id": event.get("auditID", ""),
        "stage": event.get("stage", ""),
        "ip": next(iter(event.get("sourceIPs") or ()), "<unknown>"),
        "method": event.get("verb", ""),
        "user": user.get("username") or "<none>",
        "groups": _groups(user) or "<none>",
        "as": "<self>" if other is None else other.get("username", ""),
        "asgroups": _groups(other or {}) or "<lookup>",
        "user-agent": event.get("userAgent", ""),
        "namespace": (event.get("objectRef") or {}).get("namespace") or "<none>",
        "uri": event.get("requestURI", ""),
        "response": str(response.get("code", "<deferred>")),
    }
    pairs = " ".join(f"{name}={quote(value)}" for name, value in members.items())
    return f"{event['requestReceivedTimestamp']} AUDIT: {pairs}".encode()


def _groups(user: Object) -> str:
    return ",".join(map(quote, user.get("groups") or ()))
