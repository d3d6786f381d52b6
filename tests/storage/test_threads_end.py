"""A process ends although a connection to a file was not closed."""

import asyncio
import threading
from pathlib import Path

from inkube import storage
from inkube.storage.sql import sqlite


def test_threads_of_connections_end_after_their_event_loop(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    opened = []

    async def leave_open() -> None:
        database = sqlite.SqliteDatabase(tmp_path / "data.db", storage.SqliteOptions())
        opened.append(await database.connect())

    asyncio.run(leave_open())
    [left] = set(threading.enumerate()) - before
    assert left.is_alive()
    storage.stop_threads()
    left.join(30)
    assert not left.is_alive()
