"""The alarm of a data file: what a server noticed about it while it used it, in `FILE.alarm`.

A server refuses writes once the file is damaged or replaced, but its process can end before anybody
reads its log. What is left can look sound: a shorter `-wal`, an older copy. So the server leaves
what it knows beside the file. If the file is damaged, nobody serves it before `inkube repair`; if
it was replaced, the next server begins an epoch (`Transaction.begin_epoch`), because clients know
revisions that it may lack. A removed alarm is one that was heard.
"""

import json
import logging
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from inkube.storage import wholefiles

logger = logging.getLogger(__name__)


class Alarm(NamedTuple):
    """`damage` says what is wrong, or is "" if the file was deleted or replaced. `revision` is the
    newest one that is known to the server that noticed it, `time` the time in RFC 3339."""

    damage: str
    revision: int
    time: str

    def __str__(self) -> str:
        what = self.damage or "it was deleted or replaced while it was served"
        return f"{what}, noticed by a server at {self.time}"


def path(file: Path) -> Path:
    """Return the path of the alarm of a data file."""
    return file.with_name(f"{file.name}.alarm")


def read(file: Path) -> Alarm | None:
    """Return the alarm of a data file, or None if there is none. Raises OSError."""
    try:
        text = path(file).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    try:
        found = json.loads(text)
        return Alarm(str(found["damage"]), int(found["revision"]), str(found["time"]))
    except (ValueError, TypeError, KeyError):
        return Alarm(f"{path(file).name} cannot be read", 0, "an unknown time")


def leave(file: Path, damage: str, revision: int) -> None:
    """Leave an alarm. That of a file that was replaced does not take the place of another one. A
    failure is logged: the file may be on a disk that is full or gone."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    content = json.dumps(Alarm(damage, revision, now)._asdict()).encode() + b"\n"
    try:
        earlier = read(file)
        if earlier is None or damage:
            wholefiles.write(path(file), content, mode=wholefiles.PRIVATE)
    except OSError as error:
        logger.warning("no alarm can be left beside %s: %s", file, error)


def clear(file: Path, damage: str | None = None) -> None:
    """Remove the alarm of a data file; with `damage`, only one that says this. Raises OSError."""
    alarm = read(file)
    if damage is None or (alarm is not None and alarm.damage == damage):
        path(file).unlink(missing_ok=True)
