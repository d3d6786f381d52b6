"""The logs of containers that came with a dump, as a kubelet would serve them.

A log belongs to the dump with which it came. Its lines can begin with their times (`kubectl logs
--timestamps`); then the times are removed, or kept, as a request says. Without them, a request
since some time returns all lines, because their age is unknown. `sinceSeconds` counts from the time
of the dump, and a log that is followed ends.

Follows pkg/kubelet/kuberuntime/logs for the order of `tail`, `since` and `limit`.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from inkube.apiserver.registry import keys
from inkube.apiserver.subresources.containers import LogQuery
from inkube.schemas import status
from inkube.schemas.golang import DecodeError, rfc3339
from inkube.schemas.objects import Object
from inkube.storage import Attachments, BaseStore, attachments

_LONGEST_TIME = 40
"""The most characters of a time in RFC 3339."""


def name_of(namespace: str, pod: str, container: str, *, is_previous: bool, dump: int) -> str:
    """Return the name of a log in a data file. `dump` is the number of its dump, from 0."""
    which = "previous" if is_previous else "current"
    return f"{_prefix(namespace, pod, container)}{which}/{dump:06}"


def _prefix(namespace: str, pod: str, container: str) -> str:
    return f"logs/{namespace}/{pod}/{container}/"


def source(file: Path | None, store: BaseStore) -> Callable[[], "RecordedLogs | None"]:
    """Return the function that returns the logs in the data file, if it contains a dump."""
    recorded = None if file is None else RecordedLogs(file, store)
    return lambda: recorded if recorded is not None and recorded.dumps() else None


class RecordedLogs:
    """The logs in a data file."""

    def __init__(self, file: Path, store: BaseStore) -> None:
        self._attachments = Attachments(file)
        self._store = store

    def dumps(self) -> list[Object]:
        """Return the dumps that the store shows, the oldest first: none for a file of a server."""
        entry = self._store.get(keys.CAPTURED)
        return [] if entry is None else entry.value.get("dumps") or []

    async def logs(
        self, pod: Object, container: str, query: LogQuery
    ) -> AsyncGenerator[bytes, None]:
        """Yield the log of a container. Raises StatusError 400 if the dump does not have it."""
        dumps = self.dumps()
        meta = pod["metadata"]
        name = await asyncio.to_thread(
            self._newest, meta["namespace"], meta["name"], container, query.previous, len(dumps)
        )
        if not name:
            which = "previous log" if query.previous else "log"
            raise status.bad_request(
                f'the dump contains no {which} of container "{container}" in pod "{meta["name"]}"'
            )
        since = _since(query, datetime.fromisoformat(dumps[-1]["time"]))
        read = partial(self._attachments.read, name)
        parts = await asyncio.to_thread(self._attachments.parts, name)
        first = await asyncio.to_thread(read, 0)
        has_times = _time_of(first[:_LONGEST_TIME]) is not None
        number, skipped = await asyncio.to_thread(_start, parts, query.tail_lines, read)
        lines = _Lines(query, since if has_times else None, has_times=has_times, skip=skipped)
        for part in parts[number:]:
            piece = lines.select(await asyncio.to_thread(read, part.number))
            if piece:
                yield piece
            if lines.is_full:
                return

    def _newest(
        self, namespace: str, pod: str, container: str, is_previous: bool, dumps: int
    ) -> str:
        """Return the name of the newest log that one of the first `dumps` dumps contains."""
        which = "previous" if is_previous else "current"
        for own in (container, ""):
            prefix = f"{_prefix(namespace, pod, own)}{which}/"
            names = [each for each in self._attachments.names(prefix) if int(each[-6:]) < dumps]
            if names:
                return names[-1]
        return ""


def _since(query: LogQuery, now: datetime) -> datetime | None:
    if query.since_seconds is not None:
        return now - timedelta(seconds=query.since_seconds)
    return rfc3339.parse(query.since_time) if query.since_time else None


def _start(
    parts: list[attachments.Part], tail: int | None, last: Callable[[int], bytes]
) -> tuple[int, int]:
    """Return the index of the part with the first of the last `tail` lines, and the number of lines
    in it before this one. `last` reads a part."""
    if tail is None or not parts:
        return 0, 0
    if not last(parts[-1].number).endswith(b"\n"):
        tail -= 1  # a last line without an end
    for index in range(len(parts) - 1, -1, -1):
        if parts[index].lines >= tail:
            return index, parts[index].lines - max(tail, 0)
        tail -= parts[index].lines
    return 0, 0


class _Lines:
    """Selects lines from consecutive parts of a log."""

    def __init__(
        self, query: LogQuery, since: datetime | None, *, has_times: bool, skip: int
    ) -> None:
        self._shows_times = query.timestamps
        self._left = query.limit_bytes
        self._since = since
        self._has_times = has_times
        self._skip = skip
        self._is_shown = since is None
        self._is_inside = False
        """Whether the previous part ended inside a line."""

    @property
    def is_full(self) -> bool:
        """Whether the limit of bytes is reached."""
        return self._left is not None and self._left <= 0

    def select(self, part: bytes) -> bytes:
        """Return what a request shows of a part."""
        *lines, rest = part.split(b"\n")
        lines = [line + b"\n" for line in lines] + [rest] * bool(rest)
        if self._skip:
            skipped, self._skip = self._skip, max(0, self._skip - len(lines))
            lines = lines[skipped:]
        text = b"".join(self._shown(line) for line in lines)
        if self._left is not None:
            text = text[: self._left]
            self._left -= len(text)
        return text

    def _shown(self, line: bytes) -> bytes:
        is_inside, self._is_inside = self._is_inside, not line.endswith(b"\n")
        if not self._has_times or is_inside:
            return line if self._is_shown else b""
        moment = _time_of(line[:_LONGEST_TIME])
        if moment is None:  # it continues the line before
            return line if self._is_shown else b""
        self._is_shown = self._since is None or moment >= self._since
        if not self._is_shown:
            return b""
        return line if self._shows_times else line.partition(b" ")[2] or b"\n"


def _time_of(line: bytes) -> datetime | None:
    """Return the time with which a line begins, or None."""
    text, space, _ = line.partition(b" ")
    if not space or not line[:4].isdigit():
        return None
    try:
        return rfc3339.parse(text.decode("ascii", "replace"))
    except DecodeError:
        return None
