"""The actions of `/inkube/v1/…` on a server.

Ordinary writes in one commit restore a state: watchers receive an event for each object that is
created, changed or deleted, and revisions continue to increase. These writes skip admission and
validation, because the objects passed both before.
"""

import asyncio
import contextlib
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from inkube.apiserver import control
from inkube.apiserver.configuration import Options
from inkube.apiserver.control import Fork
from inkube.apiserver.defaults import Defaults
from inkube.apiserver.registry import JSONCodec, keys
from inkube.apiserver.sources import Snapshot
from inkube.controllers.clock import FakeClock, MovableClock
from inkube.controllers.manager import Manager
from inkube.schemas import status
from inkube.schemas.clock import Clock
from inkube.schemas.objects import Object
from inkube.storage import Entry, Store, errors, writes

SNAPSHOTS = 20
"""The largest number of stored snapshots."""
SNAPSHOT_BYTES = 256 * 1024 * 1024
"""The largest size of all objects in these snapshots, in bytes."""
FORKS = 10
ATTEMPTS = 20
"""Attempts to restore a state while other writes change the store."""

State = Mapping[str, bytes]
"""Stored objects, by key."""
_VERSION = "resourceVersion"
_decode = JSONCodec().decode


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ControlledServer:
    """The parts of a server that the actions use."""

    options: Options
    store: Store
    clock: Clock
    defaults: Defaults
    manager: Manager
    start_entries: Sequence[Entry] | None
    """The stored objects at the end of the start; None if the data outlives the process."""
    settled: Callable[[float], Awaitable[None]]
    """Waits for the controllers. Raises TimeoutError after these seconds."""
    snapshot: Callable[[], Awaitable[Snapshot]]
    start: Callable[[str, Options], Awaitable[tuple[Fork, contextlib.AsyncExitStack]]]
    """Starts a server with a name. Returns it, and the stack that stops it."""


class ServerActions(control.Actions):
    """The actions on one server."""

    def __init__(self, server: ControlledServer) -> None:
        self._server = server
        self._store = server.store
        self._clock = server.clock
        self._start_revision = max(
            (entry.revision for entry in server.start_entries or ()), default=0
        )
        self._refusal = _refusal_of(server.options)
        self._snapshots: dict[str, Snapshot] = {}
        self._forks: dict[str, tuple[Fork, contextlib.AsyncExitStack]] = {}
        self._lock = asyncio.Lock()
        """Held while the state or the clock changes, so that only one action runs at a time."""

    async def close(self) -> None:
        """Stop every fork."""
        for name in tuple(self._forks):
            await self.end(name)

    async def settled(self, within: float) -> int:
        self._check()
        try:
            await self._server.settled(within)
        except TimeoutError as error:
            raise status.StatusError(
                504, status.Reason.TIMEOUT, f"not settled within {within:g} s; {self._waits()}"
            ) from error
        return self._store.revision

    async def advance(self, seconds: float) -> int:
        self._check()
        if not isinstance(self._clock, MovableClock | FakeClock):
            raise status.StatusError(
                409, status.Reason.CONFLICT, "the clock of this server cannot be moved"
            )
        self._clock.advance(seconds)
        return await self.settled(control.DEFAULT_SECONDS)

    async def reset(self) -> int:
        self._check()
        if self._server.start_entries is None:
            raise status.StatusError(
                409,
                status.Reason.CONFLICT,
                "this server keeps its data: take a snapshot and restore it; only a server in "
                "memory can be reset",
            )
        state = {entry.key: entry.data for entry in self._server.start_entries}
        return await self._return_to(state, self._start_revision)

    async def snapshot(self, name: str) -> int:
        self._check()
        if name not in self._snapshots and len(self._snapshots) >= SNAPSHOTS:
            raise status.too_many_requests(f"a server keeps at most {SNAPSHOTS} snapshots")
        await self.settled(control.DEFAULT_SECONDS)
        async with self._lock:
            new_snapshot = await self._server.snapshot()
        others = (other for other_name, other in self._snapshots.items() if other_name != name)
        if sum(map(_size, (*others, new_snapshot))) > SNAPSHOT_BYTES:
            raise status.too_many_requests(
                f"the snapshots of a server have at most {SNAPSHOT_BYTES} bytes"
            )
        self._snapshots[name] = new_snapshot
        return new_snapshot.revision

    async def restore(self, name: str) -> int:
        self._check()
        snapshot = self._snapshot(name)
        return await self._return_to(_state_of(snapshot), snapshot.revision)

    async def file(self, name: str) -> bytes:
        snapshot = self._snapshot(name)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "snapshot.db"
            await snapshot.save(path)
            return await asyncio.to_thread(path.read_bytes)

    def forget(self, name: str) -> None:
        self._snapshot(name)
        del self._snapshots[name]

    def snapshots(self) -> Mapping[str, int]:
        return {name: snapshot.revision for name, snapshot in self._snapshots.items()}

    async def fork(self, name: str, snapshot: str) -> Fork:
        self._check()
        if not snapshot:
            await self.settled(control.DEFAULT_SECONDS)
        async with self._lock:
            if name in self._forks:
                raise status.StatusError(
                    409, status.Reason.ALREADY_EXISTS, f"a fork {name!r} runs already"
                )
            if len(self._forks) >= FORKS:
                raise status.too_many_requests(f"a server has at most {FORKS} forks")
            forked = self._snapshot(snapshot) if snapshot else await self._server.snapshot()
            self._forks[name] = await self._server.start(name, self._options_of_a_fork(forked))
        return self._forks[name][0]

    async def end(self, name: str) -> None:
        fork = self._forks.pop(name, None)
        if fork is None:
            raise status.StatusError(404, status.Reason.NOT_FOUND, f"no fork {name!r} runs")
        await fork[1].aclose()

    def forks(self) -> Sequence[Fork]:
        return [fork for fork, _ in self._forks.values()]

    def now(self) -> datetime:
        return self._clock.now()

    def _check(self) -> None:
        if self._refusal:
            raise status.StatusError(501, status.Reason.NOT_IMPLEMENTED, self._refusal)

    def _snapshot(self, name: str) -> Snapshot:
        snapshot = self._snapshots.get(name)
        if snapshot is None:
            raise status.StatusError(404, status.Reason.NOT_FOUND, f"no snapshot {name!r} is kept")
        return snapshot

    async def _return_to(self, state: State, revision: int) -> int:
        """Restore the state of a revision, and wait for the controllers. Default objects that were
        created after that revision return to their first state."""
        await self.settled(control.DEFAULT_SECONDS)
        async with self._lock:
            await self._restore(state, revision)
        return await self.settled(control.DEFAULT_SECONDS)

    async def _restore(self, state: State, revision: int) -> None:
        target = {**self._server.defaults.created_after(revision), **state}
        for _ in range(ATTEMPTS):
            batch = list(_changes(self._store, target))
            with contextlib.suppress(errors.PreconditionError):
                if batch:
                    await self._store.restore(batch)
                return
        raise status.StatusError(
            409, status.Reason.CONFLICT, "other clients write all the time; try again"
        )

    def _options_of_a_fork(self, snapshot: Snapshot) -> Options:
        """Return the options of the server, with a store in memory and a free port."""
        options, clock = self._server.options, self._clock
        return replace(
            options,
            port=0,
            data=None,
            database="",
            snapshot=snapshot,
            replay=None,
            speed=1.0,
            definitions=(),
            watch_definitions=False,
            prune_definitions=False,
            module_options={**options.module_options, "scenario": ""},
            aggregated={},
            audit_log=None,
            audit_policy_file=None,
            clock=MovableClock(clock.ahead) if isinstance(clock, MovableClock) else None,
            on_request=None,
        )

    def _waits(self) -> str:
        """Return what a wait for the controllers waits for."""
        busy = self._server.manager.waits_for
        return f"it waits for {', '.join(busy)}" if busy else "it waits for informers"


def _refusal_of(options: Options) -> str:
    if options.at is not None:
        return "a server that shows the past cannot be controlled"
    if options.worker is not None:
        return "a server of several processes (--workers) cannot be controlled"
    return ""


def _state_of(snapshot: Snapshot) -> State:
    newest = {record.key: record for record in snapshot.log.records}
    return {key: record.data for key, record in newest.items() if not record.deleted}


def _size(snapshot: Snapshot) -> int:
    return sum(len(record.data) for record in snapshot.log.records)


def _changes(store: Store, target: State) -> Iterable[writes.Write]:
    """Yield the writes that change the stored state to `target`, apart from revisions."""
    for entry in store.list(keys.ROOT):
        data = target.get(entry.key)
        if data is None:
            yield writes.Delete(entry.key, entry.revision)
        elif data != entry.data:
            value = _decode(data)
            if _without_version(value) != _without_version(entry.value):
                yield writes.Update(entry.key, value, entry.revision)
    for key, data in target.items():
        if store.get(key) is None:
            yield writes.Create(key, _decode(data))


def _without_version(value: Object) -> Object:
    metadata = {name: each for name, each in value["metadata"].items() if name != _VERSION}
    return {**value, "metadata": metadata}
