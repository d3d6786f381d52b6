"""Data files that another program touches while a server uses them: deleted, replaced, cut.

The laws: a write that is acknowledged after the touch is in the file of the next start. A server
that notices damage leaves an alarm beside the file, so that no later one serves it before it is
repaired; and where commits can be lost, no client of a later server continues from a lost one.
"""

import asyncio
import contextlib
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from patience import SECONDS

from inkube.storage import alarms, errors, files, repair
from inkube.storage.log import EPOCH
from inkube.storage.sql.sqlite import SqliteOptions, sqlite_log
from inkube.storage.store import Store

PAGE = 4096


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "inkube.db"


def beside(path: Path, end: str) -> Path:
    return path.with_name(path.name + end)


async def opened(path: Path, codec: Any, *, timeout: float = 0.2) -> Store:
    log = sqlite_log(path, SqliteOptions(synchronous="NORMAL", lock_timeout=timeout))
    store = Store(log, codec)
    await store.__aenter__()
    return store


async def fill(store: Store, objects: int, size: int = 600) -> None:
    await store.current()
    start = store.revision
    for n in range(objects):
        await store.create(f"/r/{start}-{n}", {"v": "x" * size})


def external(code: str, *arguments: object) -> None:
    """Run a program of another process: closing a file in this one would drop SQLite's locks."""
    subprocess.run([sys.executable, "-c", code, *map(str, arguments)], check=True, timeout=SECONDS)


def copied_over(path: Path) -> None:
    external("import shutil, sys; shutil.copyfile(*sys.argv[1:])", beside(path, ".old"), path)


def copied_over_with_its_time(path: Path) -> None:
    external("import shutil, sys; shutil.copy2(*sys.argv[1:])", beside(path, ".old"), path)


def overwritten(path: Path) -> None:
    pages = path.stat().st_size // PAGE
    page = random.Random(1).randrange(1, pages)
    external(
        "import os, sys\n"
        "with open(sys.argv[1], 'r+b') as file:\n"
        "    file.seek(int(sys.argv[2])); file.write(os.urandom(4096))",
        path, page * PAGE,
    )  # fmt: skip


def emptied(path: Path) -> None:
    external("import sys; open(sys.argv[1], 'wb').close()", path)


def renamed_over(path: Path) -> None:
    beside(path, ".old").replace(path)


def without_index(path: Path) -> None:
    beside(path, "-shm").unlink()


def without_wal(path: Path) -> None:
    beside(path, "-wal").unlink()


def with_shorter_wal(path: Path) -> None:
    os.truncate(beside(path, "-wal"), 32 + 2 * (24 + PAGE))


def with_empty_wal(path: Path) -> None:
    os.truncate(beside(path, "-wal"), 0)


TOUCHES = [
    copied_over, copied_over_with_its_time, overwritten, emptied, renamed_over, without_index,
    without_wal, with_shorter_wal, with_empty_wal,
]  # fmt: skip


@pytest.mark.parametrize("touch", TOUCHES)
async def test_no_write_is_acknowledged_after_the_file_was_touched(
    path: Path, codec: Any, touch: Callable[[Path], None]
):
    store = await opened(path, codec)
    try:
        await fill(store, 20)
        backup(path)
        await fill(store, 2_000)  # more than one checkpoint
        touch(path)
        for n in range(3):
            with pytest.raises(errors.Unavailable, match="nothing is written"):
                await store.create(f"/r/after-{n}", {"v": n})
    finally:
        await store.close()


async def touched(path: Path, codec: Any, touch: Callable[[Path], None]) -> int:
    """Touch a file that a store uses, let the store notice it, and close the store. Return the
    newest revision that clients know."""
    store = await opened(path, codec)
    await fill(store, 20)
    backup(path)
    await fill(store, 2_000)
    touch(path)
    with pytest.raises(errors.Unavailable, match="nothing is written"):
        await store.create("/r/after", {})
    await store.close()
    return store.revision


@pytest.mark.parametrize(
    "touch", [copied_over, overwritten, emptied, with_shorter_wal, with_empty_wal]
)
async def test_a_damaged_file_is_not_served_before_its_repair(
    path: Path, codec: Any, touch: Callable[[Path], None]
):
    known = await touched(path, codec, touch)
    assert alarms.path(path).stat().st_mode & 0o777 == 0o600
    for _ in range(2):
        with pytest.raises(errors.Unavailable, match="inkube repair"):
            await opened(path, codec)
    assert any("noticed by a server" in text for text in repair.problems(path, codec.is_sound))
    repair.repair(path, codec.is_sound)
    assert repair.problems(path, codec.is_sound) == []
    await assert_continued_with_an_epoch(path, codec, known)


def removed(path: Path) -> None:
    for each in (path, beside(path, "-wal"), beside(path, "-shm")):
        each.unlink()


def moved_over(path: Path) -> None:
    removed_beside = (beside(path, "-wal"), beside(path, "-shm"))
    renamed_over(path)
    for each in removed_beside:
        each.unlink()


@pytest.mark.parametrize("touch", [removed, moved_over])
async def test_a_server_on_another_file_than_before_continues_with_an_epoch(
    path: Path, codec: Any, touch: Callable[[Path], None]
):
    known = await touched(path, codec, touch)
    await assert_continued_with_an_epoch(path, codec, known)
    again = await opened(path, codec)  # one epoch is enough
    assert again.revision < known + 1.5 * EPOCH
    await again.close()


async def assert_continued_with_an_epoch(path: Path, codec: Any, known: int) -> None:
    store = await opened(path, codec)
    try:
        assert not alarms.path(path).exists()
        assert store.revision > known + EPOCH / 2
        with pytest.raises(errors.Compacted):
            store.subscribe("/r/", known)
        await store.create("/r/new", {})
    finally:
        await store.close()
    assert repair.problems(path, codec.is_sound) == []


@pytest.mark.parametrize("objects", [0, 20, 3_000])
async def test_a_change_of_its_time_alone_stops_nothing(path: Path, codec: Any, objects: int):
    store = await opened(path, codec)
    await fill(store, objects)
    for turn in range(3):
        os.utime(path)
        await assert_written_soon(store, f"/r/after-{turn}")
        assert not alarms.path(path).exists()
        await fill(store, objects // 2)
    known = store.revision
    await store.close()
    store = await opened(path, codec)
    assert store.revision == known
    await store.close()


def size(path: Path) -> int:
    return path.stat().st_size


async def assert_written_soon(store: Store, key: str) -> None:
    async with asyncio.timeout(SECONDS):
        while store.get(key) is None:
            with contextlib.suppress(errors.Unavailable):
                await store.create(key, {})


async def test_a_check_that_a_process_did_not_end_is_done_at_the_next_start(path: Path, codec: Any):
    store = await opened(path, codec)
    await fill(store, 20)
    known = store.revision
    await store.close()
    alarms.leave(path, files.UNCHECKED, known)
    assert repair.problems(path, codec.is_sound) == []
    store = await opened(path, codec)
    assert store.revision == known
    assert not alarms.path(path).exists()
    await store.close()
    alarms.leave(path, files.UNCHECKED, known + 1)
    assert "ends at revision" in repair.problems(path, codec.is_sound)[0]
    for _ in range(2):
        with pytest.raises(errors.Unavailable, match="inkube repair"):
            await opened(path, codec)


async def test_a_store_that_ends_during_a_check_of_its_file_leaves_no_alarm(path: Path, codec: Any):
    store = await opened(path, codec)
    await fill(store, 3_000)
    os.utime(path)
    with contextlib.suppress(errors.Unavailable):
        await store.create("/r/a", {})
    await store.close()
    assert not alarms.path(path).exists()


async def test_an_older_copy_of_the_same_size_is_no_change_of_time(path: Path, codec: Any):
    """A copy whose log is sound and ends before that of the server."""
    store = await opened(path, codec)
    await fill(store, 200)
    backup(path)
    await store.create("/r/last", {"v": "a"})
    external("import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute("
             "'PRAGMA wal_checkpoint(TRUNCATE)')", path)  # fmt: skip
    with pytest.raises(errors.AlreadyExists):  # it looks at the file
        await store.create("/r/last", {})
    assert size(beside(path, ".old")) == size(path)
    copied_over(path)
    async with asyncio.timeout(SECONDS):
        while True:
            with pytest.raises(errors.Unavailable, match="nothing is written") as refused:
                await store.create("/r/after", {})
            if "is damaged" in str(refused.value):
                break
    await store.close()
    with pytest.raises(errors.Unavailable, match="inkube repair"):
        await opened(path, codec)


def moved(path: Path, target: Path) -> None:
    path.rename(target)


async def test_a_file_that_is_put_back_is_served_on(path: Path, codec: Any):
    store = await opened(path, codec)
    await fill(store, 20)
    moved(path, beside(path, ".away"))
    with pytest.raises(errors.Unavailable, match="Put it back"):
        await store.create("/r/a", {})
    assert alarms.path(path).exists()
    moved(beside(path, ".away"), path)
    await store.create("/r/a", {})
    assert not alarms.path(path).exists()
    known = store.revision
    await store.close()
    store = await opened(path, codec)
    assert store.revision == known
    await store.close()


async def test_an_index_that_is_deleted_loses_nothing(path: Path, codec: Any):
    known = await touched(path, codec, without_index)
    store = await opened(path, codec)
    assert store.revision == known
    await store.close()


@pytest.mark.parametrize("objects", [1, 100, 2_000])
async def test_servers_that_share_a_file_are_not_taken_for_other_programs(
    path: Path, codec: Any, objects: int
):
    stores = [await opened(path, codec, timeout=5.0) for _ in range(2)]
    try:
        for store in stores * 2:
            await fill(store, objects)
            external("import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute("
                     "'PRAGMA wal_checkpoint(TRUNCATE)')", path)  # fmt: skip
        await stores[0].current()
        assert stores[0].count("/r/") == stores[1].count("/r/") == 4 * objects
    finally:
        for store in stores:
            await store.close()


async def test_no_server_starts_beside_one_whose_index_was_deleted(path: Path, codec: Any):
    code = (
        "import asyncio, sys\n"
        "from inkube.storage.sql.sqlite import sqlite_log\n"
        "async def main():\n"
        "    log = sqlite_log(sys.argv[1])\n"
        "    await log.open()\n"
        "    print('open', flush=True)\n"
        "    sys.stdin.read()\n"
        "    await log.close()\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen(  # noqa: ASYNC220 # the test waits for it
        [sys.executable, "-c", code, str(path)], stdin=-1, stdout=-1, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        beside(path, "-shm").unlink()
        with pytest.raises(errors.Unavailable, match="while another process uses"):
            await opened(path, codec)
        other.communicate(timeout=SECONDS)
    store = await opened(path, codec)
    await store.create("/r/a", {})
    await store.close()


def backup(path: Path) -> None:
    external(
        "import sqlite3, sys\n"
        "a, b = map(sqlite3.connect, sys.argv[1:])\n"
        "a.backup(b); a.close(); b.close()",
        path, beside(path, ".old"),
    )  # fmt: skip
    shutil.copystat(__file__, beside(path, ".old"))
