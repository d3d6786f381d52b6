"""The election of the server that runs controllers on a shared log, and the fence around its
writes.

The Lease `inkube-controllers` in kube-system names the leader (`controllers.election`). All writes
of controllers pass a fence on it (`storage.fences`): a write is committed only if, at the revision
before it, the Lease names the same holder in the same term. Effects outside the log (a push, a
webhook) have no fence. `Timing` makes them unlikely to overlap.

A server alone on its log leads without an election.
"""

import asyncio
import contextlib
import os
import secrets
import socket
import sys
from collections.abc import AsyncIterator
from contextvars import copy_context
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from inkube.apiserver.registry import keys
from inkube.controllers.election import Elector, LeaseName, Term, Timing
from inkube.controllers.manager import Manager
from inkube.schemas import status
from inkube.storage import Entry, fences

KEY = keys.LEADER
LEASE = LeaseName(*KEY.split("/")[-2:])
_BOOT_ID = "/proc/sys/kernel/random/boot_id"
_GONE_STATES = "ZX"
"""States of a process that has ended, but whose parent has not read its exit status."""


class Fence:
    """Allows writes while the Lease names the same term; see `storage.fences`."""

    key = KEY

    def __init__(self, elector: Elector, term: Term) -> None:
        self._elector = elector
        self._term = term
        self._checked = 0
        """The newest checked revision of the Lease that still names the term."""

    def check(self, entry: Entry | None) -> None:
        """Check the Lease. Raises StatusError 409 if the term has ended."""
        if entry is not None and entry.revision == self._checked:
            return
        if entry is None or Term.of(entry.value) != self._term:
            self._elector.check()
            message = f"{self._term.holder} does not lead any more"
            raise status.conflict("coordination.k8s.io", "leases", LEASE.name, message)
        self._checked = entry.revision


class Process(NamedTuple):
    """The identity of a process: the boot id of its machine, its pid namespace, its pid, and its
    start time in clock ticks (Linux). On other systems, only the pid is set."""

    boot: str
    space: str
    pid: int
    began: str

    @classmethod
    def current(cls) -> "Process":
        """Return the current process."""
        pid = os.getpid()
        if not sys.platform.startswith("linux"):
            return cls("", "", pid, "")
        with contextlib.suppress(OSError):
            boot = blake2b(Path(_BOOT_ID).read_bytes(), digest_size=6).hexdigest()
            space = "".join(filter(str.isdigit, os.readlink("/proc/self/ns/pid")))
            _, began = _state(pid)
            return cls(boot, space, pid, began)
        return cls("", "", pid, "")

    @classmethod
    def of(cls, holder: str) -> "Process | None":
        """Return the process of a holder, or None if its name does not contain it."""
        parts = holder.rpartition("_")[0].rpartition("_")[2].split(".")
        if len(parts) != len(cls._fields) or not parts[2].isdigit():
            return None
        return cls(parts[0], parts[1], int(parts[2]), parts[3])

    def __str__(self) -> str:
        return ".".join(map(str, self))

    def has_ended(self, *, seen_from: "Process", one_machine: bool) -> bool:
        """Return whether the process is known to have ended. If one machine holds the log, this
        includes every process from before the machine's last restart."""
        if not self.boot or not seen_from.boot:
            return False
        if self.boot != seen_from.boot:
            return one_machine
        if self.space != seen_from.space:
            return False
        try:
            state, began = _state(self.pid)
        except (FileNotFoundError, ProcessLookupError):
            return True
        except OSError:
            return False
        return began != self.began or state in _GONE_STATES


def _state(pid: int) -> tuple[str, str]:
    """Return the state and start time of a process (proc_pid_stat(5)). Raises OSError."""
    # the name of the program, in parentheses, can contain any character
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return fields[0], fields[19]


def identity() -> str:
    """Return a unique name for a holder."""
    return f"{socket.gethostname()}_{Process.current()}_{secrets.token_hex(4)}"


class Leadership:
    """A server's part in the election. `duration` is the duration of the Lease in seconds;
    `on_one_machine` is true if every server on the log runs on this machine."""

    def __init__(self, manager: Manager, duration: int, *, on_one_machine: bool) -> None:
        process = self._process = Process.current()

        def is_gone(holder: str) -> bool:
            holder_process = Process.of(holder)
            return holder_process is not None and holder_process.has_ended(
                seen_from=process, one_machine=on_one_machine
            )

        self._manager = manager
        self.is_leading = False
        self.elector = Elector(
            manager.client,
            manager.clock,
            LEASE,
            identity(),
            timing=Timing.of(duration),
            has_ended=is_gone,
        )

    @property
    def leading_process(self) -> int:
        """The pid of the leader if it is another process on this machine, else 0."""
        leader = None if self.is_leading else Process.of(self.elector.holder)
        if leader is None or not leader.boot or leader[:2] != self._process[:2]:
            return 0
        return 0 if leader.pid == self._process.pid else leader.pid

    @contextlib.asynccontextmanager
    async def participate(self) -> AsyncIterator[None]:
        """Take part in the election during the block. The block begins when this or another server
        leads."""
        is_leader_known = asyncio.Event()
        job = self.elector.run(
            self._on_started_leading,
            self._on_stopped_leading,
            self._manager.informers,
            is_leader_known.set,
        )
        election = asyncio.create_task(job, name="leader election")
        first_leader = asyncio.create_task(is_leader_known.wait())
        try:
            await asyncio.wait((first_leader, election), return_when=asyncio.FIRST_COMPLETED)
            yield
        finally:
            first_leader.cancel()
            election.cancel()
            await asyncio.gather(election, return_exceptions=True)
            await self._on_stopped_leading()
            await self.elector.release()

    async def _on_started_leading(self, term: Term) -> None:
        with fences.behind(Fence(self.elector, term)):
            context = copy_context()
        self.is_leading = True
        self._manager.start_leading(context)

    async def _on_stopped_leading(self) -> None:
        self.is_leading = False
        await self._manager.stop_leading()
