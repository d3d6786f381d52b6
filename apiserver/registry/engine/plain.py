"""The plain engine: each attempt begins with the newest stored state, in the event loop."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from inkube.apiserver.registry import failures
from inkube.apiserver.registry.admission import Chain
from inkube.apiserver.registry.requests import DeleteOptions, Notes, Request, WriteOptions
from inkube.apiserver.registry.systemfields import SystemFields
from inkube.apiserver.registry.write import Change, Outcome, Write
from inkube.schemas.strategy import Reservation, ReservationLost
from inkube.storage import BaseStore, Entry, Store, errors

T = TypeVar("T")

MAX_ATTEMPTS = 100  # each lost race means that another write won


class PlainEngine:
    """Repeats attempts that lose a race. A dry run writes to another store."""

    def __init__(self, store: Store, chain: Chain, system_fields: SystemFields) -> None:
        self.store = store
        self.chain = chain
        self.system_fields = system_fields
        # the engine itself waits for newer writes when a request arrives
        self._rehearsals = store.dry_run(refreshes=False)

    def store_of(self, options: WriteOptions | DeleteOptions) -> BaseStore:
        """Return the store for a write with these options."""
        return self._rehearsals if options.dry_run else self.store

    async def carry_out(self, request: Request, change: Change) -> Outcome:
        """Carry out a change. Raises StatusError, and ConnectionError if the client has
        disconnected."""
        if request.lifetime is not None:
            request.lifetime.begin_write()
        if not self.store.is_recent:
            await self.store.recent()
        for _ in range(MAX_ATTEMPTS):
            write = self.begin(request, change)
            try:
                return await self.attempt(write)
            except (errors.PreconditionError, ReservationLost) as error:
                if not change.restarts(error):
                    raise failures.lost(write, error) from error
                write.notes.clear()
            except errors.RevisionNamed as error:
                raise failures.as_status(error) from error
            finally:
                request.notes.add(write.notes)
        raise failures.stale(request)

    def begin(self, request: Request, change: Change, notes: Notes | None = None) -> Write:
        """Return a new write, which has changed nothing yet."""
        options = change.options or request.options
        notes = notes or Notes()
        write = Write(self, request, change, options=options, name=request.name, notes=notes)
        write.store = self.store_of(options)
        return write

    async def attempt(self, write: Write) -> Outcome:
        """Run the stages of the change on the newest stored state. Raises StatusError, and
        PreconditionError or ReservationLost if another write was faster."""
        if write.change.reads:
            write.entry = write.store.get(write.key)
        return await self.run_stages(write)

    async def run_stages(self, write: Write) -> Outcome:
        """Run the stages of the change on the state in the write."""
        if not write.request.resource.definition.allocates:
            return await write.change.carry_out(write)
        with Reservation() as write.reservation:
            return await write.change.carry_out(write)

    async def run(self, weight: int, do: Callable[..., T], *args: Any) -> T:
        """Run a computation, which takes long if `weight` is more than LIGHT bytes."""
        return do(*args)

    async def repeated(self, request: Request, kind: str, body: bytes) -> Entry | None:
        """Return the stored object if the patch is known to change nothing of it, else None."""
        return None

    def note(
        self, request: Request, kind: str, body: bytes, outcome: Outcome, warnings: Sequence[str]
    ) -> None:
        """Note the outcome of a patch, and its warnings, for `repeated`."""

    def close(self) -> None:
        """End the threads of the engine."""
