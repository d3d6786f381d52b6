"""Attempts to change a stored object. Each attempt receives a state and a function that commits.

    Attempts       the newest stored state
    └── Pipelined  writes of one object run one after the other, and the next write can begin with
                   the uncommitted state of the previous one

Without a queue, sixteen clients that patch one object race: one wins, and the others repeat their
work. With a queue, each write works once. A write that needs only the state of the previous write
does not wait for its commit, and both share a commit. Only that next write sees an uncommitted
state. If the state is never stored, the work based on it is repeated. Both classes give the same
results. docs/performance.md shows the gain of `Pipelined`; the option `pipelined_writes` disables
it.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from inkube.apiserver.registry.admission import Chain
from inkube.apiserver.registry.calls import Call
from inkube.apiserver.registry.commits import Outcome
from inkube.apiserver.registry.queues import Queues, Turn, UncommittedState
from inkube.apiserver.registry.requests import Commit
from inkube.schemas import status
from inkube.storage import BaseStore, Entries, Entry, Store, writes

Work = Callable[[Entry | None, Commit], Awaitable[Outcome]]
"""The work of an attempt. Its first argument is the state, or None if no object is stored."""


class Attempts:
    """Runs each attempt on the newest stored state. All methods raise the errors of the work."""

    def __init__(self, store: BaseStore) -> None:
        self.store = store

    async def update(self, call: Call, work: Work, *, repeatable: bool) -> Outcome | None:
        """Run `work`, which changes the object of the call. Returns None if the caller must begin
        again.

        `repeatable` allows an uncommitted state, and allows to run `work` a second time.
        """
        return await work(self.store.get(call.key), self.store.commit)

    async def delete(self, call: Call, work: Work) -> Outcome:
        """Run `work`, which deletes the object of the call."""
        return await work(self.store.get(call.key), self.store.commit)


class Pipelined(Attempts):
    """Attempts in a queue for each object, which share commits."""

    def __init__(self, store: Store, chain: Chain) -> None:
        super().__init__(store)
        self._store = store
        self._chain = chain
        self.queues = Queues()

    async def update(self, call: Call, work: Work, *, repeatable: bool) -> Outcome | None:
        """Run `work` in the queue of the object. It begins with the uncommitted state of the
        previous write, if that is allowed (`_may_use_uncommitted`). Returns None if the caller must
        begin again."""
        async with self.queues.turn(call.key) as turn:
            if (
                repeatable
                and turn.uncommitted is not None
                and self._may_use_uncommitted(call, turn.uncommitted)
            ):
                outcome = await self._run_on_uncommitted(call, work, turn, turn.uncommitted)
                if outcome is not None:
                    return outcome
            await turn.settled()
            entry = self._store.get(call.key)
            return await work(entry, partial(self._commit, turn, entry))

    async def delete(self, call: Call, work: Work) -> Outcome:
        """Run `work`, which deletes the object, after the previous write of the
        object has ended."""
        async with self.queues.turn(call.key) as turn:
            await turn.settled()
            return await super().delete(call, work)

    def _may_use_uncommitted(self, call: Call, state: UncommittedState) -> bool:
        """Return whether a write may begin with an uncommitted state: no other process and no other
        write sees the state, and the object is not being deleted."""
        resource = call.resource
        alone = resource.converter is None and resource.transactor is None
        lives = "deletionTimestamp" not in state.value["metadata"]
        return alone and lives and self._chain.is_private(resource, "UPDATE")

    async def _run_on_uncommitted(
        self, call: Call, work: Work, turn: Turn, state: UncommittedState
    ) -> Outcome | None:
        """Run `work` on an uncommitted state.

        Returns None if the work is refused, or if nothing changed and the state is never stored:
        the response must depend on a stored state only, so the caller repeats the work.
        """
        told = len(call.warnings)
        entry = self._store.uncommitted(state.entry, state.value, state.underway)
        try:
            outcome = await work(entry, partial(self._commit, turn, entry))
        except status.StatusError:
            call.take_back(told)
            return None
        if outcome.changed:
            return outcome
        stored = await state.underway.outcome()
        return None if stored is None else outcome._replace(entry=stored[0])

    async def _commit(
        self, turn: Turn, entry: Entry | None, batch: Sequence[writes.Write]
    ) -> Entries:
        """Commit a batch. If it changes only the object, the next write receives the new state
        before the commit ends."""
        underway = await self._store.submit(*batch)
        [own, *others] = batch
        if entry is not None and not others and isinstance(own, writes.Update):
            turn.pass_to_next(UncommittedState(entry, own.value, underway))
        return await underway
