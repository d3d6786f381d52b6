"""The state of a server as a value: taken in an instant, given to other servers, kept in a file.

`APIServer.snapshot` takes one and `APIServer(snapshot=…)` begins with it, in memory; servers that
begin with the same share bytes that nobody changes. A file of one is a data file like any other
(`storage.sql`): `inkube serve --data` serves it, too. Secret keys are not in the file.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from inkube.apiserver import root
from inkube.storage import StorageError, log, store


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Every object, the past that was kept, and the keys of what is sealed or signed.

    `taken` is the time of the server's clock; None where it is not known.
    """

    log: log.Snapshot
    keys: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    taken: datetime | None = None

    @property
    def revision(self) -> int:
        """The revision it was taken at."""
        return self.log.newest

    async def save(self, path: Path | str) -> None:
        """Write it to a new file. Raises FileExistsError, LogError."""
        path = Path(path)
        if path.exists():
            raise FileExistsError(f"{path} is there already")
        file = root.sqlite_log(path)
        await file.open()
        try:
            await restore(self.log, file)
        finally:
            await file.close()


async def load(path: Path | str) -> Snapshot:
    """The snapshot in a file, which may be the data of a running server. Raises FileNotFoundError,
    LogError."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file")
    file = root.sqlite_log(path)
    await file.open()
    try:
        return Snapshot(await store.read(file))
    finally:
        await file.close()


async def restore(snapshot: log.Snapshot, target: log.Log) -> None:
    """Fill an empty, open log. Raises StorageError where it is not empty."""
    async with target.begin() as transaction:
        if (await transaction.missed(0, 1)).records:
            raise StorageError("there are objects already: a snapshot goes where there are none")
        for start in range(0, len(snapshot.records), store.SNAPSHOT_PAGE):
            await transaction.append(snapshot.records[start : start + store.SNAPSHOT_PAGE])
    await target.compact(snapshot.compacted)
