"""Attempts to change what is stored of an object: each is given a state, and how to commit.

    Attempts       the newest state that is stored
    └── Pipelined  writers of one object one after the other, and the next may begin with what the
                   one before is about to store

Sixteen clients that patch one object would race: one wins, the others have worked in vain and begin
again. In a queue each works once, and who only needs to know what the one before stores does not
wait until it is stored: both share a commit. What is not stored is shown to nobody else, and work
on a state that never came is done again. Both kinds answer the same; what `Pipelined` saves is in
docs/performance.md, and an option turns it off (`pipelined_writes`).
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
"""What an attempt does with the state that it is given; None where there is no object."""


class Attempts:
    """See the module. All methods raise what the work raises."""

    def __init__(self, store: BaseStore) -> None:
        self.store = store

    async def update(self, call: Call, work: Work, *, repeatable: bool) -> Outcome | None:
        """Let `work` change the object of the call; None where it has to begin anew.

        `repeatable` says that it may be done of a state that is not stored yet, and done again.
        """
        return await work(self.store.get(call.key), self.store.commit)

    async def delete(self, call: Call, work: Work) -> Outcome:
        """Let `work` delete the object of the call."""
        return await work(self.store.get(call.key), self.store.commit)


class Pipelined(Attempts):
    """See the module."""

    def __init__(self, store: Store, chain: Chain) -> None:
        super().__init__(store)
        self._store = store
        self._chain = chain
        self.queues = Queues()

    async def update(self, call: Call, work: Work, *, repeatable: bool) -> Outcome | None:
        """See Attempts. Begins with what the write before stores, where it may and that is not
        stored."""
        async with self.queues.turn(call.key) as turn:
            if (
                repeatable
                and turn.uncommitted is not None
                and self._may_begin(call, turn.uncommitted)
            ):
                outcome = await self._begin(call, work, turn, turn.uncommitted)
                if outcome is not None:
                    return outcome
            await turn.settled()
            entry = self._store.get(call.key)
            return await work(entry, partial(self._commit, turn, entry))

    async def delete(self, call: Call, work: Work) -> Outcome:
        """See Attempts."""
        async with self.queues.turn(call.key) as turn:
            await turn.settled()
            return await super().delete(call, work)

    def _may_begin(self, call: Call, state: UncommittedState) -> bool:
        """Whether a state may be worked on that is not stored: nobody beyond this process, and no
        other write, is shown it, and the object lives on."""
        resource = call.resource
        alone = resource.converter is None and resource.transactor is None
        lives = "deletionTimestamp" not in state.value["metadata"]
        return alone and lives and self._chain.is_private(resource, "UPDATE")

    async def _begin(
        self, call: Call, work: Work, turn: Turn, state: UncommittedState
    ) -> Outcome | None:
        """Work on the state that is to come. Nothing is answered that a state never stored led to:
        None where it is refused, which has to be seen again with what is stored."""
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
        """Commit; a change of the object alone is handed on to the next writer before."""
        underway = await self._store.submit(*batch)
        [own, *others] = batch
        if entry is not None and not others and isinstance(own, writes.Update):
            turn.hand_on(UncommittedState(entry, own.value, underway))
        return await underway
