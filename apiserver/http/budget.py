"""Bytes that wait for clients who do not read, of all connections of a server together.

A connection holds back little by itself: it waits for its reader (`httpresponse`,
`watching.streams`). Many of them would hold back much. So each whose transport is full is counted
here, with what its answer keeps in memory beside; beyond the bound those who took nothing for
longest are cut off. Who reads is never counted for long. A watcher who is cut off resumes from its
last version.
"""

import asyncio
import socket
import struct
from typing import Protocol

MOST = 64 * 2**20  # bytes of all connections together
FULL = 64 * 1024  # bytes that a transport holds back before it is full
_NO_LINGER = struct.pack("ii", 1, 0)


class Reader(Protocol):
    """A client for whom bytes wait."""

    @property
    def unread(self) -> int:
        """How many there are now."""
        ...

    def cut_off(self) -> None:
        """Close its connection and forget them."""
        ...


class Budget:
    """Who does not read, those first who took nothing for longest; `most` bytes may wait."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._waiting: dict[Reader, int] = {}
        self.held = 0
        """Bytes that wait, as far as is known."""

    def add(self, reader: Reader) -> None:
        """Somebody does not keep up from now on; others are cut off if that is too much."""
        self.remove(reader)
        self._append(reader, reader.unread)
        if self.held > self._most:
            self._make_room()

    def recount(self, reader: Reader) -> None:
        """Count anew what waits, if anything does: several write to this connection, and go on
        while it is full."""
        if reader in self._waiting:
            self.add(reader)

    def remove(self, reader: Reader) -> None:
        """It has read what waited, or is gone; may be called twice."""
        self.held -= self._waiting.pop(reader, 0)

    def _append(self, reader: Reader, size: int) -> None:
        self._waiting[reader] = size
        self.held += size

    def _make_room(self) -> None:
        """Cut off readers until the rest fits; the newest never, who had no time to read yet."""
        *older, _ = self._waiting
        reading = []
        for reader in tuple(older):
            unread = reader.unread
            if unread < self._waiting[reader]:
                reading.append(reader)
                older.remove(reader)
                self.remove(reader)
                self._append(reader, unread)
        for reader in (*older, *reading):  # who reads only where nothing else helps
            if self.held <= self._most:
                return
            self.remove(reader)
            reader.cut_off()


def cut_off(transport: asyncio.Transport | None) -> None:
    """End a connection at once; the system, too, keeps nothing of what was to be sent."""
    if transport is None:
        return
    connection = transport.get_extra_info("socket")
    if connection is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
    transport.abort()
