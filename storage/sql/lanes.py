"""A lane: one connection, used by one coroutine at a time.

It is opened at its first use, and again after a failure: the first time immediately, then after 0.1
s, 0.2 s … 5 s. Calls in between fail immediately with the last error.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from inkube.storage.errors import LogError, Unavailable, Unsent
from inkube.storage.sql.database import Connection, Database

T = TypeVar("T")

SHORTEST, LONGEST = 0.1, 5.0


class Lane:
    """One connection that is opened at its first use, and again with back-off after a failure."""

    def __init__(
        self, database: Database, connect: Callable[[], Awaitable[Connection]] | None = None
    ) -> None:
        self._database = database
        self._open = connect or database.connect
        self._connection: Connection | None = None
        self._lock = asyncio.Lock()
        self._closed = False
        self._delay = 0.0
        self._not_before = 0.0
        self.failure = ""
        """Why the connection cannot be used at the moment, or ""."""

    @property
    def is_open(self) -> bool:
        """Whether a connection is open."""
        return self._connection is not None

    @asynccontextmanager
    async def held(self) -> AsyncIterator[Connection]:
        """Yield the connection, for this caller alone. Errors of the driver become LogErrors."""
        async with self._lock:
            connection = await self._connect()
            try:
                yield connection
            except BaseException as error:
                if not self._database.survives(error):
                    await self._drop()
                if isinstance(error, self._database.errors):
                    raise self._failed(error) from error
                raise
            self.failure = ""

    async def work(self, job: Callable[[Connection], Awaitable[T]]) -> T:
        """Run a job to its end, also if the caller is cancelled: the connection is shared, and an
        interrupted statement would leave it in an unknown state. If the connection had ended
        before, the job runs again on a new one."""
        return await asyncio.shield(asyncio.ensure_future(self._work(job)))

    async def drop(self) -> None:
        """Close the connection; the next job opens a new one."""
        await self._drop()

    async def close(self) -> None:
        """Wait for the running job and close the connection for the last time; can be called
        twice."""
        async with self._lock:
            self._closed = True
            await self._drop()

    async def _work(self, job: Callable[[Connection], Awaitable[T]]) -> T:
        try:
            return await self._work_once(job)
        except Unsent:
            return await self._work_once(job)

    async def _work_once(self, job: Callable[[Connection], Awaitable[T]]) -> T:
        async with self.held() as connection:
            return await job(connection)

    async def _connect(self) -> Connection:
        if self._connection is not None and self._connection.closed:
            await self._drop()
        if self._connection is not None:
            return self._connection
        if self._closed:
            raise Unavailable(f"{self._database.name} is closed")
        if asyncio.get_running_loop().time() < self._not_before:
            raise Unavailable(self.failure)
        try:
            self._connection = await self._open()
        except LogError as error:
            self._wait_longer()
            self.failure = str(error)
            raise
        except self._database.errors as error:
            self._wait_longer()
            raise self._failed(error) from error
        self._delay = 0.0
        return self._connection

    def _wait_longer(self) -> None:
        self._delay = min(max(2 * self._delay, SHORTEST), LONGEST)
        self._not_before = asyncio.get_running_loop().time() + self._delay

    def _failed(self, error: Exception) -> LogError:
        translated = self._database.translate(error)
        self.failure = str(translated)
        return translated

    async def _drop(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            await connection.close()
