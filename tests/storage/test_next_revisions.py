"""Optimistic appends: records are stored only if no other writer was faster; one statement, no
lock."""

import random
from pathlib import Path

import pytest

from inkube.storage.log import Head, Log, Record, digest
from inkube.storage.sql.sqlite import ROWS, sqlite_log


class _Model:
    """The model: everything written to a log by any writer."""

    def __init__(self, newest: int) -> None:
        self.newest = newest
        self.living: dict[str, int] = {}
        """The revision of each existing key."""

    def records(self, chance: random.Random, after: int, count: int) -> list[Record]:
        """Return random writes that could follow `after`, at most one per key."""
        keys = chance.sample([f"/r/{n}" for n in range(count + 3)], count)
        return [self._record(chance, key, after + n) for n, key in enumerate(keys, 1)]

    def _record(self, chance: random.Random, key: str, revision: int) -> Record:
        previous = self.living.get(key, 0)
        deleted = previous > 0 and chance.random() < 0.5
        return Record(revision, key, previous, previous or revision, deleted, b"{}", revision)

    def write(self, records: list[Record]) -> None:
        """Add committed records."""
        for record in records:
            if record.deleted:
                del self.living[record.key]
            else:
                self.living[record.key] = record.revision
        self.newest = records[-1].revision


async def _append(log: Log, records: list[Record]) -> None:
    async with log.begin() as transaction:
        await transaction.append(records)


@pytest.mark.parametrize("seed", range(12))
async def test_writes_are_appended_only_to_the_newest_revision(seed: int, tmp_path: Path):
    chance = random.Random(seed)
    here, there = sqlite_log(tmp_path / "log.db"), sqlite_log(tmp_path / "log.db")
    await here.open()
    await there.open()
    try:
        model = _Model((await here.horizon()).newest)
        seen = model.newest
        expected: list[Record] = []
        for _ in range(60):
            match chance.randrange(4):
                case 0:  # others write
                    records = model.records(chance, model.newest, chance.randint(1, 4))
                    await _append(there, records)
                    model.write(records)
                    expected += records
                case 1:  # others compact, perhaps up to a deletion
                    oldest = (await there.horizon()).compacted
                    await there.compact(chance.randint(oldest, model.newest))
                case 2:  # this store reads
                    seen = model.newest
                case _:
                    records = model.records(chance, seen, chance.randint(1, 4))
                    before = digest(expected[-1]) if expected and seen == model.newest else 0
                    last = await here.append_next(Head(seen, before), records)
                    assert last == (digest(records[-1]) if seen == model.newest else None)
                    if last is not None:
                        model.write(records)
                        expected += records
                        seen = model.newest
        compacted = (await here.horizon()).compacted
        kept = (await here.missed(compacted, len(expected) + 1)).records
        assert list(kept) == [record for record in expected if record.revision > compacted]
    finally:
        await here.close()
        await there.close()


async def test_writes_to_an_older_revision_are_not_appended(tmp_path: Path):
    log = sqlite_log(tmp_path / "log.db")
    await log.open()
    try:
        newest = (await log.horizon()).newest
        gap = [Record(newest + 2, "/r/a", 0, newest + 2, False, b"{}", 0)]
        many = [
            Record(newest + n, f"/r/{n}", 0, newest + n, False, b"{}", 0)
            for n in range(1, ROWS + 2)
        ]
        assert await log.append_next(Head(newest), gap) is None
        assert await log.append_next(Head(newest), many) is None
        assert not (await log.missed(newest, 10)).records
    finally:
        await log.close()
