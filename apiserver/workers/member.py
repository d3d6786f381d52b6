"""A worker's side: it receives connections from the parent, and reports that it is alive.

The channel is a stream socket. The parent sends open connections with one byte (TAKE) each, and
ANNOUNCE one time to one of the workers. The worker sends READY one time, and ALIVE every second. If
the channel ends, the parent has ended, and the worker stops.
"""

import asyncio
import contextlib
import logging
import os
import socket
import ssl
from asyncio import Event, Task
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from inkube.apiserver.auth import Certificate

logger = logging.getLogger(__name__)

TAKE, ANNOUNCE, READY, ALIVE = b"c", b"a", b"r", b"."
BEAT = 1.0
"""Seconds between two reports that the worker is alive."""
MAX_PER_TURN = 64
"""The most connections that are received in one turn of the event loop."""


@dataclass(frozen=True, slots=True)
class Worker:
    """The data of one of several workers: its number, and the parts that it shares with the
    others."""

    number: int
    """From 1 to `count`."""
    count: int
    channel: socket.socket
    """The channel to the parent."""
    folder: Path
    """The folder of the sockets between workers; other users have no access."""
    address: tuple[str, int]
    """The host and the port that all workers share."""
    certificate: Certificate | None
    admin_token: str

    def socket_path(self, pid: int) -> Path:
        """Return the path of the socket on which the worker with that process id receives forwarded
        requests."""
        return socket_path(self.folder, pid)


def socket_path(folder: Path, pid: int) -> Path:
    """Return the path of the socket of the worker with that process id in a folder."""
    return folder / f"{pid}.http"


class Intake:
    """Receives connections from the parent. Created and used in an event loop."""

    def __init__(
        self,
        worker: Worker,
        factory: Callable[[], asyncio.Protocol],
        context: ssl.SSLContext | None,
    ) -> None:
        self._channel = worker.channel
        self._factory = factory
        self._context = context
        self._loop = asyncio.get_running_loop()
        self._beat: asyncio.TimerHandle | None = None
        self._tasks: set[Task[None]] = set()
        self.announces = Event()
        """Set if this worker is the one that announces the server."""
        self.orphaned = Event()
        """Set when the parent has ended."""

    def start(self) -> None:
        """Start to receive connections."""
        self._channel.setblocking(False)
        self._loop.add_reader(self._channel.fileno(), self._receive)
        self._live()

    def close(self) -> None:
        """Stop receiving connections: the parent passes them to other workers. Those that are on
        their way are closed."""
        self._loop.remove_reader(self._channel.fileno())
        if self._beat is not None:
            self._beat.cancel()
        with contextlib.suppress(OSError):  # the parent has ended
            self._channel.shutdown(socket.SHUT_RD)
            while (received := socket.recv_fds(self._channel, MAX_PER_TURN, MAX_PER_TURN))[0]:
                for file in received[1]:
                    os.close(file)

    def ready(self) -> None:
        """Report to the parent that this worker can serve. It prefers ready workers to starting
        ones."""
        self._send(READY)

    async def connect(self) -> socket.socket:
        """Return a connection to this worker, which serves it like those of the parent."""
        client, served = socket.socketpair()
        client.setblocking(False)
        self._take(served)
        return client

    def _live(self) -> None:
        self._send(ALIVE)
        self._beat = self._loop.call_later(BEAT, self._live)

    def _send(self, message: bytes) -> None:
        try:
            self._channel.send(message)
        except BlockingIOError:
            pass  # the parent reads slowly, so it has unread reports
        except OSError:
            self.orphaned.set()

    def _receive(self) -> None:
        try:
            told, files, _, _ = socket.recv_fds(self._channel, MAX_PER_TURN, MAX_PER_TURN)
        except BlockingIOError:
            return
        except OSError:
            told, files = b"", []
        if not told:
            self._loop.remove_reader(self._channel.fileno())
            self.orphaned.set()
        if ANNOUNCE in told:
            self.announces.set()
        for file in files:
            self._take(socket.socket(fileno=file))

    def _take(self, connection: socket.socket) -> None:
        task = self._loop.create_task(self._serve(connection))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        try:
            await self._loop.connect_accepted_socket(self._factory, connection, ssl=self._context)
        except OSError as error:  # including TLS errors
            connection.close()
            logger.debug("a connection ended before it began: %s", error)
