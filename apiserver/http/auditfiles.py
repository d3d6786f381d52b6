"""The file of an audit log: its lines, and its rotation by size.

A full file is renamed with the time in its name, and another one begins. Follows
apiserver/plugin/pkg/audit/log, audit/format.go (EventString) and the files of lumberjack.
"""

import errno
import gzip
import logging
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Literal, NamedTuple

import orjson

from inkube import storage
from inkube.apiserver.http.audit import Sink
from inkube.schemas.golang import quote
from inkube.schemas.objects import Object

logger = logging.getLogger(__name__)

STDOUT = "-"
Mode = Literal["batch", "blocking", "blocking-strict"]
"""Whether a request waits until its events are stored, and fails if its first one is not. A file is
written at once in every mode."""
_MEGABYTE = 1024 * 1024
_COMPRESSED = ".gz"
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
        self._rotates = bool(self._settings.max_megabytes) and str(path) != STDOUT
        self._ends_line = True
        """Whether the log ends with a whole line, as far as this process knows."""
        self._file = self._open()

    def _open(self) -> IO[bytes]:
        if str(self._path) == STDOUT:
            # a file of its own, so that closing it leaves the process its standard output
            return open(os.dup(sys.stdout.fileno()), "wb", buffering=0)
        storage.wholefiles.make_private(self._path)  # bodies of Secrets and tokens
        self._ends_line = _ends_with_line(self._path)
        return open(self._path, "ab", buffering=0, opener=_private)

    @property
    def is_strict(self) -> bool:
        return self._settings.mode == "blocking-strict"

    async def flush(self) -> None:
        """Nothing to wait for."""

    def close(self) -> None:
        self._file.close()

    def append(self, event: Object) -> None:
        line = self._line(event) + b"\n"
        if self._rotates:
            size = self._current_size()
            if size and size + len(line) > self._settings.max_megabytes * _MEGABYTE:
                self._rotate()
        self._write(line if self._ends_line else b"\n" + line)

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

    def _current_size(self) -> int:
        """Return the size of the log in bytes. Follows it if another worker has renamed it."""
        own = os.fstat(self._file.fileno())
        try:
            present = self._path.stat()
        except FileNotFoundError:
            present = None
        if present is None or not os.path.samestat(own, present):
            self._file.close()
            self._file = self._open()
            own = os.fstat(self._file.fileno())
        return own.st_size

    def _rotate(self) -> None:
        """Rename the full file, begin another one, and remove files beyond the limits."""
        moment = self._now().astimezone(UTC)
        target = self._named(moment)
        while target.exists() or _compressed(target).exists():  # of the same millisecond
            moment += timedelta(milliseconds=1)
            target = self._named(moment)
        self._file.close()
        self._path.rename(target)
        self._file = self._open()
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


def _ends_with_line(path: Path) -> bool:
    """Return whether a log is empty or ends with a whole line. Other files than regular ones have
    no end."""
    if not path.is_file() or not path.stat().st_size:
        return True
    with path.open("rb") as log:
        log.seek(-1, os.SEEK_END)
        return log.read(1) == b"\n"


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
