"""One repeated request with little work in this process, so that only the server is measured.

Prepared requests are sent in groups on each of a few connections. The system wakes this process
when the responses of a group have arrived (SO_RCVLOWAT), and the process counts the bodies, which
are all equal. Linux only.
"""

import selectors
import socket
import time
from contextlib import ExitStack
from typing import NamedTuple

AHEAD = 16
"""Requests that are sent together on a connection."""
CONNECTIONS = 16
TIMEOUT = 60.0
PIECE = 1 << 20
OK = b"HTTP/1.1 200 "


class Sent(NamedTuple):
    """The result: responses, elapsed seconds, and seconds of processor time in this process."""

    answers: int
    seconds: float
    cpu: float

    @property
    def speed(self) -> float:
        """The responses per second."""
        return self.answers / self.seconds

    @property
    def share(self) -> float:
        """The share of one core that this process used."""
        return self.cpu / self.seconds


def send(port: int, request: bytes, count: int, connections: int = CONNECTIONS) -> Sent:
    """Send a request about `count` times. Raises RuntimeError for a response other than 200."""
    with ExitStack() as stack, selectors.DefaultSelector() as selector:
        opened = [stack.enter_context(_connection(port)) for _ in range(connections)]
        batch = request * AHEAD
        for each in opened:
            expected = _answer(each, request)
        turns = max(1, count // AHEAD // connections)
        left = dict.fromkeys(opened, turns)
        for each in opened:
            each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, len(expected) * AHEAD)
            selector.register(each, selectors.EVENT_READ, each)
        began, used = time.perf_counter(), time.process_time()
        for each in opened:
            each.sendall(batch)
        while left:
            found = selector.select(TIMEOUT)
            if not found:
                raise RuntimeError("the server does not answer")
            for key, _ in found:
                each = key.data
                _read(each, expected)
                left[each] -= 1
                if left[each]:
                    each.sendall(batch)
                else:
                    del left[each]
                    selector.unregister(each)
        seconds, cpu = time.perf_counter() - began, time.process_time() - used
    return Sent(turns * AHEAD * connections, seconds, cpu)


def _connection(port: int) -> socket.socket:
    opened = socket.create_connection(("127.0.0.1", port), TIMEOUT)
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return opened


def _answer(connection: socket.socket, request: bytes) -> bytes:
    """Return the response to a request. Raises RuntimeError if it is not 200."""
    connection.sendall(request)
    found = b""
    while b"\r\n\r\n" not in found:
        found += connection.recv(PIECE)
    head = found.partition(b"\r\n\r\n")[0]
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    while len(found) < len(head) + 4 + length:
        found += connection.recv(PIECE)
    if not found.startswith(OK):
        raise RuntimeError(found[:500].decode(errors="replace"))
    return found


def _read(connection: socket.socket, expected: bytes) -> None:
    """Read the responses to one group. They must equal the expected one, except for numbers and
    times."""
    body = expected.partition(b"\r\n\r\n")[2]
    found = connection.recv(PIECE)
    while not (found.endswith(body) and found.count(body) == AHEAD):
        more = connection.recv(PIECE)
        if not more or len(found) > 2 * len(expected) * AHEAD:
            raise RuntimeError(f"other answers: {found[-500:]!r}")
        found += more
    if found.count(OK) != AHEAD:
        raise RuntimeError(f"other answers: {found[:500]!r}")
