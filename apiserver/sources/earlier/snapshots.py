"""The state of a server as a value: taken at one revision, passed to other servers, saved in a
file.

`APIServer.snapshot` takes a snapshot, and `APIServer(snapshot=…)` begins with it, in memory.
Servers that begin with the same snapshot share its bytes, which never change. The file of a
snapshot is a data file (`storage.sql`): `inkube serve --data` can serve it. It does not contain
secret keys.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from inkube import storage
from inkube.storage import StorageError, log, store, wholefiles


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Every object, the history that the log still had, and the keys for encrypted and signed
    values.

    `taken` is the time of the server's clock, or None if it is unknown.
    """

    log: log.Snapshot
    keys: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    taken: datetime | None = None

    @property
    def revision(self) -> int:
        """The revision of the snapshot."""
        return self.log.newest

    async def save(self, path: Path | str) -> None:
        """Write the snapshot to a new file, which appears when it is complete. Raises
        FileExistsError and other OSErrors, LogError."""
        with wholefiles.new_database(Path(path)) as draft:
            file = storage.sqlite_log(draft)
            await file.open()
            try:
                await restore(self.log, file)
            finally:
                await file.close()


async def load(path: Path | str) -> Snapshot:
    """Return the snapshot in a file, which can be the data of a running server. Raises
    FileNotFoundError, LogError."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file")
    with storage.readable(path) as found:
        file = storage.sqlite_log(found)
        await file.open()
        try:
            return Snapshot(await store.read(file))
        finally:
            await file.close()


async def restore(snapshot: log.Snapshot, target: log.Log) -> None:
    """Fill an empty, open log. Raises StorageError if it is not empty."""
    async with target.begin() as transaction:
        if (await transaction.missed(0, 1)).records:
            raise StorageError("the target of a snapshot already contains objects: give a new file")
        for start in range(0, len(snapshot.records), store.SNAPSHOT_PAGE):
            await transaction.append(snapshot.records[start : start + store.SNAPSHOT_PAGE])
    await target.compact(snapshot.compacted)
