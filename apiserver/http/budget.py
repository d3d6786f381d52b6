"""The limit of unsent bytes for clients that do not read, for all connections of a server together.

One connection buffers little, because its response waits for the client (`httpresponse`,
`watching.streams`). Many connections together can buffer much. The budget counts each connection
with a full transport, including the memory that its response keeps. Above the limit, the server
disconnects the clients that have read nothing for the longest time. A client that reads leaves the
count soon. A disconnected watcher resumes from its last resourceVersion.
"""

import asyncio
import socket
import struct
from typing import Protocol

MAX_UNSENT = 64 * 2**20  # bytes of all connections together
HIGH_WATER = 64 * 1024  # bytes in the buffer of a transport at which it counts as full
_NO_LINGER = struct.pack("ii", 1, 0)


class Reader(Protocol):
    """A client with unsent bytes."""

    @property
    def unread(self) -> int:
        """The current number of unsent bytes."""
        ...

    def disconnect(self) -> None:
        """Close the connection and drop the unsent bytes."""
        ...


class Budget:
    """The clients that do not read, longest-waiting first. At most `limit` bytes can be unsent."""

    def __init__(self, limit: int = MAX_UNSENT) -> None:
        self._limit = limit
        self._slow_readers: dict[Reader, int] = {}
        self.unsent = 0
        """Unsent bytes of all counted clients, as of their last count."""

    def add(self, reader: Reader) -> None:
        """Count a client whose transport is full. If the total exceeds the limit, disconnect
        others."""
        self.remove(reader)
        self._append(reader, reader.unread)
        if self.unsent > self._limit:
            self._evict()

    def recount(self, reader: Reader) -> None:
        """Count the client's bytes again if it is counted: several responses share its connection,
        and continue to write while it is full."""
        if reader in self._slow_readers:
            self.add(reader)

    def remove(self, reader: Reader) -> None:
        """Stop counting a client that has read its bytes or disconnected. Can be called twice."""
        self.unsent -= self._slow_readers.pop(reader, 0)

    def _append(self, reader: Reader, size: int) -> None:
        self._slow_readers[reader] = size
        self.unsent += size

    def _evict(self) -> None:
        """Disconnect clients until the rest fits, but never the newest, which had no time to
        read."""
        *older, _ = self._slow_readers
        progressing = []
        for reader in tuple(older):
            unread = reader.unread
            if unread < self._slow_readers[reader]:
                progressing.append(reader)
                older.remove(reader)
                self.remove(reader)
                self._append(reader, unread)
        for reader in (*older, *progressing):  # those that read come last
            if self.unsent <= self._limit:
                return
            self.remove(reader)
            reader.disconnect()


def abort(transport: asyncio.Transport | None) -> None:
    """Abort a connection. The operating system drops its unsent bytes, too."""
    if transport is None:
        return
    connection = transport.get_extra_info("socket")
    if connection is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
    transport.abort()
