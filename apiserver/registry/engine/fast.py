"""The fast engine: queues, uncommitted states, a thread for large objects and a cache of patches.

Without a queue, sixteen clients that patch one object race: one wins, and the others repeat their
work. With a queue, each write works once. A write that needs only the state of the previous write
does not wait for its commit, and both share a commit. Only that next write sees an uncommitted
state. If the state is never stored, the work based on it is repeated. `switches` shows the gain of
each part, and the options that disable them.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from inkube.apiserver.registry.admission import Chain
from inkube.apiserver.registry.engine.plain import PlainEngine
from inkube.apiserver.registry.engine.queues import Queues, Turn, UncommittedState
from inkube.apiserver.registry.engine.repeats import Repeats
from inkube.apiserver.registry.engine.worker import Worker
from inkube.apiserver.registry.requests import LIGHT, Request
from inkube.apiserver.registry.systemfields import SystemFields
from inkube.apiserver.registry.write import Outcome, Write
from inkube.schemas import status
from inkube.storage import Entries, Entry, Store, writes

T = TypeVar("T")


class FastEngine(PlainEngine):
    """The engine of a server. `pipelined` and `patch_cache` are the options of these names."""

    def __init__(
        self,
        store: Store,
        chain: Chain,
        system_fields: SystemFields,
        *,
        pipelined: bool = True,
        patch_cache: bool = True,
    ) -> None:
        super().__init__(store, chain, system_fields)
        self.queues = Queues() if pipelined else None
        self.repeats = Repeats(store, chain) if patch_cache else None
        self._worker = Worker()

    async def attempt(self, write: Write) -> Outcome:
        """Run the stages in the queue of the object. They begin with the uncommitted state of the
        previous write, if that is allowed (`_may_use`)."""
        change = write.change
        if self.queues is None or not change.reads or write.dry_run:
            return await super().attempt(write)
        async with self.queues.turn(write.key) as turn:
            if change.repeatable and turn.uncommitted is not None:
                state = turn.uncommitted
                if self._may_use(write, state):
                    outcome = await self._attempt_on(state, write, turn)
                    if outcome is not None:
                        return outcome
                    write = self.begin(write.request, change, write.notes)
            await turn.settled()
            write.committer = partial(self._commit, turn)
            return await super().attempt(write)

    def _may_use(self, write: Write, state: UncommittedState) -> bool:
        """Return whether a write may begin with an uncommitted state: no other process and no other
        write sees the state, and the object is not being deleted."""
        resource = write.request.resource
        alone = resource.converter is None and resource.transactor is None
        lives = "deletionTimestamp" not in state.value["metadata"]
        return alone and lives and self.chain.is_private(resource, "UPDATE")

    async def _attempt_on(
        self, state: UncommittedState, write: Write, turn: Turn
    ) -> Outcome | None:
        """Run the stages on an uncommitted state.

        Returns None if the work is refused, or if nothing changed and the state is never stored:
        the response must depend on a stored state only, so the caller repeats the work.
        """
        write.entry = self.store.uncommitted(state.entry, state.value, state.underway)
        write.committer = partial(self._commit, turn)
        try:
            outcome = await self.run_stages(write)
        except status.StatusError:
            write.notes.clear()
            return None
        if outcome.changed:
            return outcome
        stored = await state.underway.outcome()
        if stored is None:
            write.notes.clear()
            return None
        return outcome._replace(entry=stored[0])

    async def _commit(self, turn: Turn, write: Write, batch: Sequence[writes.Write]) -> Entries:
        """Commit a batch. If it changes only the object, the next write receives the new state
        before the commit ends."""
        underway = await self.store.submit(*batch, consent=write.request.consent)
        [own, *others] = batch
        if write.entry is not None and not others and isinstance(own, writes.Update):
            turn.pass_to_next(UncommittedState(write.entry, own.value, underway))
        return await underway

    async def run(self, weight: int, do: Callable[..., T], *args: Any) -> T:
        """Run a computation, in a thread if `weight` is more than LIGHT bytes."""
        return do(*args) if weight <= LIGHT else await self._worker.run(do, *args)

    async def repeated(self, request: Request, kind: str, body: bytes) -> Entry | None:
        return None if self.repeats is None else await self.repeats.find(request, kind, body)

    def note(
        self, request: Request, kind: str, body: bytes, outcome: Outcome, warnings: Sequence[str]
    ) -> None:
        if self.repeats is not None and not outcome.changed:
            self.repeats.note(request, kind, body, outcome.entry, warnings)

    def close(self) -> None:
        """End the thread after its running function. Waiting functions are cancelled."""
        self._worker.close()
