"""Locks by key within this process. A task waits for a lock, or is refused immediately.

A transaction (`transactions`) holds a lock from its first read to its commit. The locks do not
affect other processes: the preconditions of the commit detect their writes.
"""

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager

MAX_WAITING = 512
"""Tasks that can wait for one lock, at most."""


class Busy(Exception):
    """The lock is taken, or too many tasks wait for it."""


class Locks:
    """One lock per key."""

    def __init__(self) -> None:
        self._locks: dict[Hashable, asyncio.Lock] = {}
        self._users: dict[Hashable, int] = {}

    @asynccontextmanager
    async def hold(self, key: Hashable) -> AsyncIterator[None]:
        """Wait for the lock and hold it. Raises Busy if WAITING other tasks wait for it."""
        if self._users.get(key, 0) > MAX_WAITING:
            raise Busy
        lock = self._locks.setdefault(key, asyncio.Lock())
        self._users[key] = self._users.get(key, 0) + 1
        try:
            async with lock:
                yield
        finally:
            self._leave(key)

    @asynccontextmanager
    async def attempt(self, key: Hashable) -> AsyncIterator[None]:
        """Hold the lock. Raises Busy if it is taken."""
        if key in self._users:
            raise Busy
        async with self.hold(key):
            yield

    def _leave(self, key: Hashable) -> None:
        self._users[key] -= 1
        if not self._users[key]:
            del self._users[key], self._locks[key]

    def __len__(self) -> int:
        """Return the number of locks that tasks hold or wait for."""
        return len(self._users)
