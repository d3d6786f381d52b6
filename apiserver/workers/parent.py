"""The parent of all workers: it accepts connections, passes them on, and restarts workers.

It has no event loop and no thread, so that it can fork at any time, and serves no requests. The
first worker starts alone, so errors of a start are reported one time, and the first start creates
its objects one time. If a worker ends unexpectedly, another one replaces it, after 0.1 s, 0.2 s … 5
s if this repeats. The first replacement is logged.

Connections are passed in turn to the workers that are ready and have recently reported that they
are alive. Before the first is ready, they are passed to a starting worker, which responds that it
is not ready.
"""

import contextlib
import errno
import json
import logging
import os
import selectors
import shutil
import signal
import socket
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from inkube.apiserver.auth import Certificate
from inkube.apiserver.http import GRACE_SECONDS, sites
from inkube.apiserver.workers.member import ANNOUNCE, READY, TAKE, Worker, socket_path

logger = logging.getLogger(__name__)

BACKLOG = 1024
GRACE = GRACE_SECONDS + 10.0
"""Seconds for workers to stop before they are killed: for their running requests, and the rest."""
SILENT = 3.0
"""Seconds without a report after which a worker receives no connections."""
SHORTEST, LONGEST = 0.1, 5.0
"""The shortest and the longest delay before an ended worker is replaced, in seconds."""
STEADY = 10.0
"""Seconds of service after which the delays of replacements begin again with the shortest."""
BUSY_SECONDS = 0.05
"""Seconds until the parent accepts connections again after no worker could take one."""
PIECE = 64 * 1024
"""Bytes of a log that are read at once; longer lines are split."""

Serve = Callable[[Worker], int]
"""Serves in a separate process until it is stopped; returns the exit code."""


class Process:
    """One worker in the parent."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.pid = 0
        self.channel: socket.socket | None = None
        self.log: int | None = None
        self.partial_line = b""
        """The part of an incomplete line of its log."""
        self.is_ready = False
        self.last_message = 0.0
        self.ready_since = 0.0
        self.failures = 0
        self.restart_time: float | None = None
        """The time at which it is started again, or None."""


class Parent:
    """Starts the workers, passes connections to them and restarts those that ended.

    `style` is the format of the logs, text or json.
    """

    def __init__(
        self,
        count: int,
        address: tuple[str, int],
        serve: Serve,
        *,
        certificate: Certificate | None,
        admin_token: str,
        style: str = "text",
    ) -> None:
        self._serve = serve
        self._certificate = certificate
        self._admin_token = admin_token
        self._style = style
        self._processes = [Process(number) for number in range(1, count + 1)]
        self._last_worker = 0
        self._is_announced = False
        self._is_stopping = False
        self._code = 0
        self._selector = selectors.DefaultSelector()
        addresses = socket.getaddrinfo(*address, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        self._listeners = list(sites.listen(addresses, backlog=BACKLOG))
        self._address = address[0], self._listeners[0].getsockname()[1]
        self._accepts = False
        self._accepts_again: float | None = None
        self._folder = Path(tempfile.mkdtemp(prefix="inkube-workers-"))
        self._woken, self._wakes = os.pipe()

    def run(self) -> int:
        """Serve until SIGTERM or SIGINT, or until the first worker cannot start. Returns the exit
        code."""
        self._listen_to_signals()
        try:
            self._accept_from_all(self._listeners)
            self._start(self._processes[0])
            deadline = float("inf")
            while not (self._is_stopping and all(each.pid == 0 for each in self._processes)):
                if self._is_stopping and deadline == float("inf"):
                    deadline = time.monotonic() + GRACE
                    self._end(signal.SIGTERM)
                if time.monotonic() > deadline:
                    self._end(signal.SIGKILL)
                for key, _ in self._selector.select(self._patience(deadline)):
                    key.data()
                self._reap()
                self._start_due()
        finally:
            self._end(signal.SIGKILL)
            shutil.rmtree(self._folder, ignore_errors=True)
        return self._code

    def _listen_to_signals(self) -> None:
        os.set_blocking(self._wakes, False)
        os.set_blocking(self._woken, False)
        signal.set_wakeup_fd(self._wakes, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop)
        self._selector.register(self._woken, selectors.EVENT_READ, self._wake)

    def _wake(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._woken, PIECE)

    def _stop(self, *_: Any) -> None:
        """Stop the workers; a second signal stops them immediately."""
        if self._is_stopping:
            self._end(signal.SIGKILL)
        self._is_stopping = True

    def _end(self, number: signal.Signals) -> None:
        for listener in self._listeners:
            if self._accepts:
                self._selector.unregister(listener)
            listener.close()
        self._listeners, self._accepts = [], False
        for each in self._processes:
            if each.pid:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(each.pid, number)

    def _patience(self, deadline: float) -> float | None:
        dues = [each.restart_time for each in self._processes if each.restart_time is not None]
        if self._accepts_again is not None:
            dues.append(self._accepts_again)
        first = min([*dues, deadline])
        return None if first == float("inf") else max(0.0, first - time.monotonic())

    def _start_due(self) -> None:
        now = time.monotonic()
        if self._accepts_again is not None and self._accepts_again <= now and not self._is_stopping:
            self._accepts_again = None
            self._accept_from_all(self._listeners)
        for each in self._processes:
            if each.restart_time is not None and each.restart_time <= now and not self._is_stopping:
                self._start(each)

    def _start(self, process: Process) -> None:
        ours, theirs = socket.socketpair()
        read, write = os.pipe()
        process.restart_time = None
        sys.stdout.flush()
        sys.stderr.flush()
        process.pid = os.fork()
        if process.pid == 0:
            ours.close()
            os.close(read)
            self._become(process, theirs, write)
        theirs.close()
        os.close(write)
        ours.setblocking(False)
        os.set_blocking(read, False)
        process.channel, process.log, process.is_ready = ours, read, False
        process.last_message = time.monotonic()
        self._selector.register(ours, selectors.EVENT_READ, lambda: self._receive(process))
        self._selector.register(read, selectors.EVENT_READ, lambda: self._print_lines(process))

    def _become(self, process: Process, channel: socket.socket, log: int) -> NoReturn:
        """Become the worker, in the forked process, and release everything that belongs to the
        parent."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent stops the workers
            self._selector.close()
            for listener in self._listeners:
                listener.close()
            for each in self._processes:
                if each.channel is not None:  # or its worker would not notice the end of the parent
                    each.channel.close()
                if each.log is not None:
                    os.close(each.log)
            os.close(self._woken)
            os.close(self._wakes)
            os.dup2(log, 2)
            os.close(log)
            code = self._serve(
                Worker(
                    process.number,
                    len(self._processes),
                    channel,
                    self._folder,
                    self._address,
                    self._certificate,
                    self._admin_token,
                )
            )
        except BaseException:  # noqa: BLE001 # nobody is left to catch it
            traceback.print_exc()
        finally:
            with contextlib.suppress(OSError):  # or the code of the parent would continue here
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)

    def _accept_from_all(self, listeners: list[socket.socket]) -> None:
        for listener in listeners:
            self._selector.register(
                listener, selectors.EVENT_READ, lambda listener=listener: self._accept(listener)
            )
        self._accepts = bool(listeners)

    def _accept(self, listener: socket.socket) -> None:
        try:
            connection, _ = listener.accept()
        except (BlockingIOError, ConnectionError):
            return
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                raise
            self._pause()
            return
        with connection:
            if not self._send_connection(connection):
                self._pause()

    def _pause(self) -> None:
        """Accept no connections for a moment."""
        for listener in self._listeners:
            self._selector.unregister(listener)
        self._accepts, self._accepts_again = False, time.monotonic() + BUSY_SECONDS

    def _send_connection(self, connection: socket.socket) -> bool:
        for each in self._candidates():
            assert each.channel is not None, "candidates have one"
            try:
                socket.send_fds(each.channel, [TAKE], [connection.fileno()])
            except OSError:  # its buffer is full, or the worker has just ended
                continue
            self._last_worker = each.number
            return True
        return False

    def _candidates(self) -> list[Process]:
        """Return the workers that can take a connection, the best first."""
        since, count = time.monotonic() - SILENT, len(self._processes)
        running = [each for each in self._processes if each.channel is not None]
        # in turn, starting after the last one
        running.sort(key=lambda each: (each.number - self._last_worker - 1) % count)
        return sorted(running, key=lambda each: (not each.is_ready, each.last_message < since))

    def _receive(self, process: Process) -> None:
        assert process.channel is not None, "it is registered"
        try:
            told = process.channel.recv(PIECE)
        except BlockingIOError:
            return
        except OSError:
            told = b""
        if not told:  # the worker ends; `_reap` reads its exit code
            self._leave(process)
            return
        process.last_message = time.monotonic()
        if READY in told:
            self._is_ready(process)

    def _is_ready(self, process: Process) -> None:
        process.is_ready, process.ready_since = True, time.monotonic()
        if process.failures:
            logger.warning("worker %d serves again", process.number)
        if not self._is_announced and process.channel is not None:
            self._is_announced = True
            with contextlib.suppress(OSError):
                process.channel.send(ANNOUNCE)
            for each in self._processes:
                if not each.pid and each.restart_time is None:
                    self._start(each)

    def _leave(self, process: Process) -> None:
        if process.channel is not None:
            self._selector.unregister(process.channel)
            process.channel.close()
            process.channel = None

    def _reap(self) -> None:
        for each in self._processes:
            if not each.pid:
                continue
            pid, status = os.waitpid(each.pid, os.WNOHANG)
            if pid:
                each.pid = 0
                socket_path(self._folder, pid).unlink(missing_ok=True)
                self._leave(each)
                self._print_lines(each, last=True)
                self._on_exit(each, os.waitstatus_to_exitcode(status))

    def _on_exit(self, process: Process, code: int) -> None:
        if self._is_stopping:
            return
        if not self._is_announced:  # as for a server with one process
            self._is_stopping, self._code = True, code if code > 0 else 1
            return
        served = process.is_ready and time.monotonic() - process.ready_since >= STEADY
        process.failures = 1 if served else process.failures + 1
        if process.failures == 1:
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            logger.error("worker %d ended (%s) and is started again", process.number, how)
        delay = min(SHORTEST * 2.0 ** min(process.failures - 1, 60), LONGEST)
        process.is_ready, process.restart_time = False, time.monotonic() + delay

    def _print_lines(self, process: Process, *, last: bool = False) -> None:
        """Print complete lines of a worker's log, with its number."""
        while process.log is not None:
            try:
                read = os.read(process.log, PIECE)
            except BlockingIOError:
                break
            if not read:
                self._close_log(process, process.log)
            *lines, process.partial_line = (process.partial_line + read).split(b"\n")
            if len(process.partial_line) > PIECE or (process.partial_line and process.log is None):
                lines, process.partial_line = [*lines, process.partial_line], b""
            if lines:
                _write(b"".join(self._with_number(process.number, line) for line in lines))
            if not last:
                return
        if last and process.log is not None:  # a child process of the worker can hold it open, too
            self._close_log(process, process.log)

    def _close_log(self, process: Process, log: int) -> None:
        self._selector.unregister(log)
        os.close(log)
        process.log = None

    def _with_number(self, number: int, line: bytes) -> bytes:
        if self._style != "json":
            return b"worker-%d %s\n" % (number, line)
        try:
            told = json.loads(line)
        except ValueError:
            told = {"message": line.decode(errors="replace")}
        return json.dumps({"worker": number, **told}).encode() + b"\n"


def _write(data: bytes) -> None:
    """Write lines of a log to stderr. They are lost if it takes none, as on a full disk."""
    with contextlib.suppress(OSError):
        sys.stderr.flush()
        while data:
            data = data[os.write(2, data) :]
