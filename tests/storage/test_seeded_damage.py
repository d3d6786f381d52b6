"""Seeded damage of a data file, its `-wal` and its `-shm`.

The law: `check` reports the damage, or everything that is served is as it was. What `repair` leaves
is sound, has only rows that were written, and lacks only those of damaged pages.
"""

import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from inkube.storage import repair, soundness
from inkube.storage.sql.sqlite import SqliteOptions, sqlite_log
from inkube.storage.store import Store

DAMAGES = int(os.environ.get("INKUBE_DAMAGES", "16"))
"""Damages of each kind in this run; 125 are 1,000 of all kinds."""
PAGE = 4096
State = dict[str, tuple[int, bytes]]


class Written(NamedTuple):
    """Files that a killed process left, the rows that were written, and the state of the end."""

    folder: Path
    rows: dict[int, tuple[Any, ...]]
    state: State


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    import asyncio

    folder = tmp_path_factory.mktemp("written")
    return asyncio.run(_write(folder))


class _Codec:
    def is_sound(self, data: bytes, revision: int) -> bool:
        return data.startswith(b'{"v":') and data.endswith(b'"}')

    def are_sound(self, data: Any, revisions: Any) -> bool:
        return all(map(self.is_sound, data, revisions))

    def encode(self, value: Any, revision: int) -> bytes:
        return b'{"v":"%s"}' % value["v"].encode()

    def decode(self, data: bytes) -> Any:
        return {"v": data[6:-2].decode()}

    def strip(self, value: Any) -> bool:
        return False


async def _write(folder: Path) -> Written:
    """Return objects of many sizes, replaced and deleted; a part is compacted, and a part in the
    -wal."""
    chance = random.Random(7)
    path = folder / "at-work.db"
    async with Store(sqlite_log(path, SqliteOptions(synchronous="NORMAL")), _Codec()) as store:

        async def change(count: int) -> None:
            for _ in range(count):
                key = f"/registry/configmaps/default/{chance.randrange(120):03}"
                entry = store.get(key)
                value = {"v": "x" * chance.choice([40, 300, 900, 2_000, 9_000])}
                if entry is None:
                    await store.create(key, value)
                elif chance.random() < 0.2:
                    await store.delete(key, entry.revision)
                else:
                    await store.update(key, value, entry.revision)

        await change(400)
        await store.compact(store.revision - 30)
        await change(200)
        with closing(sqlite3.connect(path)) as other:
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        await change(60)
        for end in ("", "-wal", "-shm"):
            shutil.copyfile(f"{path}{end}", folder / f"inkube.db{end}")
        state = {entry.key: (entry.revision, entry.data) for entry in store.list("/registry/")}
    with closing(sqlite3.connect(path)) as other:
        rows = {row[0]: row for row in other.execute(f"SELECT {soundness.CELLS} FROM log")}
    return Written(folder, rows, state)


Damage = Callable[[Path, random.Random], None]


def _flip(path: Path, chance: random.Random) -> None:
    with path.open("r+b") as file:
        place = chance.randrange(path.stat().st_size)
        file.seek(place)
        old = file.read(1)[0]
        file.seek(place)
        file.write(bytes([old ^ chance.randrange(1, 256)]))


def in_the_file(path: Path, chance: random.Random) -> None:
    _flip(path, chance)


def in_the_wal(path: Path, chance: random.Random) -> None:
    _flip(path.with_name(f"{path.name}-wal"), chance)


def in_the_shm(path: Path, chance: random.Random) -> None:
    _flip(path.with_name(f"{path.name}-shm"), chance)


def cut(path: Path, chance: random.Random) -> None:
    path = path.with_name(path.name + chance.choice(["", "-wal"]))
    os.truncate(path, chance.randrange(path.stat().st_size))


def lost_wal(path: Path, chance: random.Random) -> None:
    wal = path.with_name(f"{path.name}-wal")
    length = chance.choice([-1, 0, 31, 32, 33, 32 + 24 + PAGE - 1])
    if length < 0:
        wal.unlink()
    else:
        os.truncate(wal, length)


def another_page(path: Path, chance: random.Random) -> None:
    with path.open("r+b") as file:
        count = path.stat().st_size // PAGE
        source, target = chance.sample(range(count), 2)
        file.seek(source * PAGE)
        page = file.read(PAGE)
        file.seek(target * PAGE)
        file.write(page)


def four_pages(path: Path, chance: random.Random) -> None:
    with path.open("r+b") as file:
        for number in chance.sample(range(path.stat().st_size // PAGE), 4):
            file.seek(number * PAGE)
            file.write(chance.randbytes(PAGE))


def a_removed_row(path: Path, chance: random.Random) -> None:
    with closing(sqlite3.connect(path)) as other, other:
        rows = [row[0] for row in other.execute("SELECT revision FROM log ORDER BY revision")]
        # the last one looks like a write that never was; nobody can know that it was
        other.execute("DELETE FROM log WHERE revision = ?", (chance.choice(rows[:-1]),))


LARGEST_LOSS: dict[Damage, int] = {
    in_the_file: 8, in_the_wal: 2, in_the_shm: 0, another_page: 8, four_pages: 24, a_removed_row: 1
}  # fmt: skip
"""The objects that a repair may lose at most: those with a part in a page that is lost. A cut file
lacks whatever was behind the cut."""
KINDS = [
    in_the_file,
    in_the_wal,
    in_the_shm,
    cut,
    lost_wal,
    another_page,
    four_pages,
    a_removed_row,
]


@pytest.mark.parametrize("damage", KINDS)
async def test_check_reports_it_or_nothing_that_is_served_changes(
    tmp_path: Path, written: Written, damage: Damage
):
    for seed in range(DAMAGES):
        path = _copied(written, tmp_path / str(seed))
        damage(path, random.Random(seed))
        if not _reported(path):
            assert await _served(path) == written.state, f"seed {seed}"
            assert _rows(path) == written.rows, f"seed {seed}"
        shutil.rmtree(path.parent)


@pytest.mark.parametrize("damage", KINDS)
async def test_repair_keeps_what_can_be_read(tmp_path: Path, written: Written, damage: Damage):
    for seed in range(DAMAGES // 2):
        path = _copied(written, tmp_path / str(seed))
        damage(path, random.Random(seed))
        repaired = repair.repair(path, _Codec().is_sound)
        assert not _reported(path), f"seed {seed}"
        for revision, row in _rows(path).items():
            assert written.rows[revision] == row, f"seed {seed}"
        state = await _served(path)
        missing = {key for key in written.state if state.get(key) != written.state[key]}
        assert len(missing) <= LARGEST_LOSS.get(damage, len(written.state)), (seed, repaired)
        shutil.rmtree(path.parent)


def _copied(written: Written, folder: Path) -> Path:
    folder.mkdir()
    for end in ("", "-wal", "-shm"):
        shutil.copyfile(written.folder / f"inkube.db{end}", folder / f"inkube.db{end}")
    return folder / "inkube.db"


def _reported(path: Path) -> bool:
    try:
        return bool(repair.problems(path, _Codec().is_sound))
    except sqlite3.Error:
        return True


async def _served(path: Path) -> State:
    async with Store(sqlite_log(path), _Codec()) as store:
        return {entry.key: (entry.revision, entry.data) for entry in store.list("/registry/")}


def _rows(path: Path) -> dict[int, tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as other:
        return {row[0]: row for row in other.execute(f"SELECT {soundness.CELLS} FROM log")}
