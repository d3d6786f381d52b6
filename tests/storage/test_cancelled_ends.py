"""A cancelled end of a store is a whole end."""

import asyncio
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest
from patience import SECONDS, within

from inkube.storage import Store, sqlite_log
from inkube.storage.entry import Codec


async def test_a_cancelled_close_commits_what_waits_and_ends_the_threads(
    tmp_path: Path, codec: Codec
) -> None:
    """While another process holds the write lock, a write and the close both wait for it."""
    threads = set(threading.enumerate())
    data = tmp_path / "data.db"
    store = await Store(sqlite_log(data), codec).__aenter__()
    with closing(sqlite3.connect(data, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        write = asyncio.create_task(store.create("/registry/a", {"kind": "A"}))
        await asyncio.sleep(0)
        close = asyncio.create_task(store.close())
        for _ in range(3):
            await asyncio.sleep(0)
            close.cancel()
        assert not close.done()
        other.execute("ROLLBACK")
        async with within():
            with pytest.raises(asyncio.CancelledError):
                await close
    assert (await write).revision == store.revision
    for each in set(threading.enumerate()) - threads:
        each.join(SECONDS)
        assert not each.is_alive()
