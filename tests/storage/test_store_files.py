"""A data file: its content after a restart, and the errors for files that are refused."""

import asyncio
import contextlib
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from patience import SECONDS

from inkube.storage import errors
from inkube.storage.files import Presence
from inkube.storage.log import FIRST_REVISION
from inkube.storage.sql.sqlite import SqliteOptions, sqlite_log
from inkube.storage.store import MemoryLog, Store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "inkube.db"


@pytest.fixture
def text_file(path: Path) -> Path:
    path.write_text("apiVersion: v1\n" * 100)
    return path


@pytest.fixture
def others_database(path: Path) -> Path:
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE log (revision INTEGER)")
    other.close()
    return path


@pytest.fixture
def empty_file(path: Path) -> Path:
    path.touch()
    return path


def content(path: Path) -> bytes:
    return path.read_bytes()


async def refusal(path: Path, codec: Any, **options: Any) -> errors.StorageError:
    with pytest.raises(errors.StorageError) as refused:
        async with Store(sqlite_log(path, SqliteOptions(**options)), codec):
            pass
    return refused.value


async def test_a_restart_restores_the_state_and_continues_the_revisions(backend: Any):
    store = await backend.open()
    a = await store.create("/r/a", {"v": 1})
    b = await store.create("/r/b", {"v": 1})
    a2 = await store.update("/r/a", {"v": 2}, a.revision)
    gone = await store.delete("/r/b", b.revision)
    await store.close()

    store = await backend.open()
    assert store.revision == gone.revision
    (entry,) = store.list("/r/")
    assert (entry.key, entry.revision, entry.created) == ("/r/a", a2.revision, a.revision)
    assert entry.data == a2.data
    assert (await store.create("/r/b", {})).revision == gone.revision + 1


async def test_a_restart_keeps_the_past_and_the_watches(backend: Any):
    store = await backend.open()
    a = await store.create("/r/a", {"v": 1})
    a2 = await store.update("/r/a", {"v": 2}, a.revision)
    await store.delete("/r/a", a2.revision)
    await store.close()

    store = await backend.open()
    assert [e.data for e in (await store.page("/r/", revision=a.revision)).entries] == [a.data]
    with store.subscribe("/r/", FIRST_REVISION) as subscription:
        told = await subscription.next_batch()
    assert [change.type for change in told] == ["ADDED", "MODIFIED", "DELETED"]
    assert told[2].previous is not None
    assert told[2].previous.data == a2.data


async def test_odd_names_are_file_names_like_any_other(
    tmp_path: Path, codec: Any, monkeypatch: Any
):
    monkeypatch.chdir(tmp_path)
    for name in (":memory:", "file:x?mode=memory", "a b#c%20.db"):
        async with Store(sqlite_log(name), codec) as store:
            await store.create("/r/a", {})
        assert (tmp_path / name).stat().st_size > 0


async def test_files_have_full_synchronisation_by_default(path: Path, codec: Any):
    async def level(log: Any) -> int:
        async with Store(log, codec), log._front.held() as connection:
            assert await connection.pragma("journal_mode") == "wal"
            return int(await connection.pragma("synchronous"))

    assert await level(sqlite_log(path)) == 2
    assert await level(sqlite_log(path, SqliteOptions(synchronous="NORMAL"))) == 1


async def test_a_file_that_is_no_database_is_refused_and_left_alone(text_file: Path, codec: Any):
    before = content(text_file)
    error = await refusal(text_file, codec)
    assert isinstance(error, errors.NotOurs)
    assert str(error) == f"{text_file} is not a database"
    assert content(text_file) == before


async def test_the_database_of_something_else_is_refused_and_left_alone(
    others_database: Path, codec: Any
):
    before = content(others_database)
    error = await refusal(others_database, codec)
    assert isinstance(error, errors.NotOurs)
    assert "another application" in str(error)
    assert content(others_database) == before


async def test_a_newer_schema_is_refused(path: Path, codec: Any):
    async with Store(sqlite_log(path), codec):
        pass
    with sqlite3.connect(path) as newer:
        newer.execute("UPDATE meta SET value = 3 WHERE name = 'schema'")
    newer.close()
    error = await refusal(path, codec)
    assert isinstance(error, errors.NewerSchema)
    assert str(error) == f"{path} has schema 3; this inkube knows 2"


async def test_a_missing_folder_is_named(tmp_path: Path, codec: Any):
    error = await refusal(tmp_path / "missing" / "inkube.db", codec)
    assert isinstance(error, errors.Unavailable)
    assert "missing" in str(error)


async def test_an_empty_file_becomes_a_new_store(empty_file: Path, codec: Any):
    async with Store(sqlite_log(empty_file), codec) as store:
        assert store.revision == FIRST_REVISION


@pytest.fixture
def locked(path: Path) -> Iterator[sqlite3.Connection]:
    """Simulates another process during a write."""
    other = sqlite3.connect(path, isolation_level=None)
    yield other
    other.close()


async def test_a_lock_held_too_long_is_an_error_and_no_more_than_that(
    path: Path, codec: Any, locked: sqlite3.Connection
):
    options = SqliteOptions(lock_timeout=0.05)
    async with Store(sqlite_log(path, options), codec) as store:
        first = await store.create("/r/a", {})
        locked.execute("BEGIN IMMEDIATE")
        with pytest.raises(errors.Locked) as refused:
            await store.create("/r/b", {})
        locked.execute("ROLLBACK")
        second = await store.create("/r/b", {})
    assert str(refused.value) == f"{path} is locked by another process"
    assert second.revision == first.revision + 1


async def test_opening_a_locked_file_is_an_error(
    path: Path, codec: Any, locked: sqlite3.Connection
):
    async with Store(sqlite_log(path), codec):
        pass
    locked.execute("BEGIN EXCLUSIVE")
    assert isinstance(await refusal(path, codec, lock_timeout=0.05), errors.Locked)


async def test_a_full_disk_fails_the_write_and_the_next_may_succeed(path: Path, codec: Any):
    log: Any = sqlite_log(path)
    async with Store(log, codec) as store:
        await store.create("/r/a", {})
        async with log._front.held() as connection:
            await connection.pragma("max_page_count = 12")
        with pytest.raises(errors.Unavailable, match="full"):
            await store.create("/r/big", {"v": "x" * 200_000})
        assert "full" in store.failure
        async with log._front.held() as connection:
            await connection.pragma("max_page_count = 100000")
        await store.create("/r/b", {})
        assert store.failure == ""
        assert [entry.key for entry in store.list("/r/")] == ["/r/a", "/r/b"]
        assert (await store.page("/r/", revision=store.revision)).entries == store.list("/r/")


async def test_an_unclosed_store_is_warned_about(codec: Any):
    store = Store(MemoryLog(), codec)
    store._open = True
    with pytest.warns(ResourceWarning, match="unclosed"):
        store.__del__()
    store._open = False


def test_a_start_that_is_interrupted_while_the_file_is_opened_ends_in_silence(
    path: Path, monkeypatch: pytest.MonkeyPatch
):
    asked, over = threading.Event(), threading.Event()
    errors_of_threads: list[BaseException | None] = []
    monkeypatch.setattr(threading, "excepthook", lambda told: errors_of_threads.append(told[1]))
    connect = sqlite3.connect

    def connect_slowly(*arguments: Any, **options: Any) -> sqlite3.Connection:
        if threading.current_thread() is not threading.main_thread():
            asked.set()
            over.wait(0.2)  # without this wait, the loop would be closed by then
        return connect(*arguments, **options)

    async def start() -> None:
        opening = asyncio.create_task(sqlite_log(path).open())
        assert await asyncio.to_thread(asked.wait, SECONDS)
        opening.cancel()  # like asyncio.run after SIGINT
        with pytest.raises(asyncio.CancelledError):
            await opening

    monkeypatch.setattr(sqlite3, "connect", connect_slowly)
    threads = set(threading.enumerate())
    asyncio.run(start())
    over.set()
    for thread in set(threading.enumerate()) - threads:
        thread.join(SECONDS)
    assert errors_of_threads == []


async def test_every_commit_changes_the_index_and_nothing_else_does(path: Path, codec: Any):
    """`Presence.has_commits` reads the index instead of the file."""
    presence = Presence(path, lambda path, revision: "")
    async with Store(sqlite_log(path), codec) as here, Store(sqlite_log(path), codec) as there:
        await here.create("/r/a", {})
        presence.note()
        presence.note_opened()
        assert presence.has_commits()
        for step in range(12):
            assert not presence.has_commits()
            await (here, there)[step % 2].create(f"/r/{step}", {})
            assert presence.has_commits()
            await here.current()
            assert not presence.has_commits()
            if step % 3 == 0:
                with contextlib.closing(sqlite3.connect(path)) as other:
                    other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                presence.has_commits()  # a checkpoint may have begun a new -wal
        presence.forget()
