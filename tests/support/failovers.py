"""A PostgreSQL that is replaced by copies of itself: a replica that is behind and promoted, a copy
of its folder that is put back, the old primary rewound to the new one.

Servers connect to one port, as to a load balancer or a virtual address; behind it, the primary
changes.
"""

import asyncio
import contextlib
import os
import random
import signal
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import postgresql

REPLICATION = {
    "wal_level": "replica",
    "max_wal_senders": "4",
    "wal_keep_size": "64MB",
    "hot_standby": "on",
    "full_page_writes": "on",
    # a replica whose receiver of commits was ended stays behind, until it is promoted
    "wal_retrieve_retry_interval": "3600s",
}


class Pair:
    """A primary, a replica, and the port at which the primary can be reached."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self._folder = folder
        self._chance = chance
        self._number = 0
        self._primary = postgresql.Cluster(self._next(), durable=True, settings=REPLICATION)
        self._replica = self._primary.replica(self._next())
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self.port = 0

    async def open(self) -> None:
        """Open the port."""
        self._server = await asyncio.start_server(self._forward, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Stop everything."""
        await self._shut()
        for each in (self._primary, self._replica):
            with contextlib.suppress(subprocess.CalledProcessError):
                await asyncio.to_thread(each.stop, "immediate")

    async def database(self) -> str:
        """Create a database, and return its name."""
        return (await self._primary.database()).rpartition("/")[2]

    def url(self, name: str) -> str:
        """Return the URL of a database, whichever cluster serves it."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{name}"

    @contextlib.asynccontextmanager
    async def promoted(self) -> AsyncIterator[None]:
        """Lose the primary, and promote the replica, which lacks the last commits. The port is
        closed during the block; the new primary can be read at it with `direct`."""
        await self._fall_behind()
        await self._shut()
        old = self._primary
        await asyncio.to_thread(old.stop, "immediate")
        await asyncio.to_thread(self._replica.promote)
        self._primary = self._replica
        yield
        await self.open()
        if self._chance.random() < 0.5:
            await self._primary.execute("CHECKPOINT")  # pg_rewind reads its new timeline there
            await asyncio.to_thread(old.rewind, self._primary)
            self._replica = old
        else:
            old.remove()
            self._replica = await asyncio.to_thread(self._primary.replica, self._next())

    @contextlib.asynccontextmanager
    async def put_back(self) -> AsyncIterator[None]:
        """Put back a copy of the primary's folder that was made a moment ago."""
        copy = self._folder / f"copy-{self._number}"
        await self._shut()
        await asyncio.to_thread(self._primary.stop, "fast")
        await asyncio.to_thread(self._primary.copy_to, copy)
        await asyncio.to_thread(self._primary.start)
        await self.open()
        await asyncio.sleep(self._chance.uniform(0.5, 1.5))
        await self._shut()
        await asyncio.to_thread(self._primary.stop, "immediate")
        await asyncio.to_thread(self._primary.put_back, copy)
        await asyncio.to_thread(self._primary.start)
        self._replica.remove()
        yield
        await self.open()
        self._replica = await asyncio.to_thread(self._primary.replica, self._next())

    def direct(self, name: str) -> str:
        """Return the URL of a database at the primary itself."""
        return self._primary.url(name)

    @property
    def primary(self) -> postgresql.Cluster:
        """The primary."""
        return self._primary

    async def _fall_behind(self) -> None:
        """Cut the replica from the primary, and let clients go on for a moment."""
        receiver = await self._replica.receiver()
        if receiver:
            with contextlib.suppress(ProcessLookupError):
                os.kill(receiver, signal.SIGTERM)
        await asyncio.sleep(self._chance.choice([0.0, 0.2, 1.0, 2.0]))

    def _next(self) -> Path:
        self._number += 1
        folder = self._folder / str(self._number)
        folder.mkdir()
        postgresql.give(folder)
        return folder

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            there = await asyncio.open_connection("127.0.0.1", self._primary.port)
        except OSError:
            writer.transport.abort()
            return
        self._writers.add(there[1])
        await asyncio.gather(
            self._copy(reader, there[1]), self._copy(there[0], writer), return_exceptions=True
        )

    async def _copy(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        try:
            while chunk := await source.read(2**16):
                target.write(chunk)
                await target.drain()
        finally:
            self._writers.discard(target)
            target.transport.abort()

    async def _shut(self) -> None:
        """Close the port and every connection through it."""
        if self._server is not None:
            self._server.close()
        for writer in tuple(self._writers):
            writer.transport.abort()
        self._writers.clear()
