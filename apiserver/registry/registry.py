"""The generic registry: create, get, update, delete of any kind, over one store.

Every write of every client passes here, in this order: transform (body, patch or apply) →
ownership of fields → admission.mutate → the strategy's prepare and validate → admission.validate →
commit. Of a new object that nobody changes on this way the ownership is worked out after the
validation, with the same outcome (`Registry.create`). What the server settles itself about an
object is in `preparation`, the last step in `commits`. What has to be converted is awaited before
the transform (what is stored) and before the commit (what is to be). Follows
apiserver/pkg/registry/generic/registry/store.go.
"""

import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import Any, NamedTuple

import orjson

from inkube.apiserver.registry import (
    conversions,
    deletion,
    ownerreferences,
    ownership,
    preparation,
)
from inkube.apiserver.registry.admission import Attributes, Chain, Reserve
from inkube.apiserver.registry.calls import Call, DeleteOptions
from inkube.apiserver.registry.commits import Commits, Outcome
from inkube.apiserver.registry.queues import Ahead, Queues, Turn
from inkube.apiserver.registry.selections import Selections
from inkube.apiserver.registry.stamps import Stamps
from inkube.apiserver.registry.transactions import to_the_end
from inkube.apiserver.registry.worker import Worker
from inkube.schemas import status
from inkube.schemas.ownership import managedfields
from inkube.schemas.strategy import Reservation, Taken
from inkube.storage import errors as storage_errors
from inkube.storage.entry import Entry
from inkube.storage.store import Store, Underway
from inkube.storage.turns import Turns

Object = dict[str, Any]
MAX_RETRIES = 100  # a race is lost where another write won: that many are no accident


class Update(NamedTuple):
    """How an update makes the new object from the old one (None: there is none).

    `retry` says whether a lost race may be tried again with the newer object.
    """

    transform: Callable[[Object | None], Object | Coroutine[Any, Any, Object]]
    retry: bool = False
    create: bool = False
    """Whether the new object may be created when there is none (apply, PUT of some kinds)."""
    tracks: bool = True
    """Whether ownership is tracked here; apply has done so itself."""
    foresees: bool = False
    """Whether it may be given a state that is not stored yet, and again another where that one
    never came: `transform` does nothing else, and makes nothing of the old resourceVersion."""
    shares: bool = False
    """Whether `transform` changes nothing of the old object: it is given the stored one, and may
    make parts of it parts of the new one, which are then known to be the same."""
    is_patch: bool = False
    """Whether repeated owner references are dropped after mutating admission only."""


class Registry:
    """One for all kinds; the Call says which."""

    def __init__(self, store: Store, chain: Chain, stamps: Stamps) -> None:
        self.store = store
        self.chain = chain
        self.stamps = stamps
        self._turns = Turns()
        self._queues = Queues()
        self.selections = Selections(store)
        self.worker = Worker()
        """Where what takes long is computed; to be closed."""
        self._commits = Commits(store, stamps, self.worker)

    def get(self, call: Call) -> Entry:
        """The newest state. Raises StatusError 404."""
        entry = self.store.get(call.key)
        if entry is None:
            raise status.not_found(call.resource.group, call.resource.plural, call.name)
        return entry

    async def create(self, call: Call, obj: Object) -> Outcome:
        """Store a new object; fills in name, namespace, uid and times."""
        await self._turns.stage()
        if not call.is_current:
            await self.store.current()
        attributes = Attributes("CREATE", call, obj, None, call.options.dry_run)
        meta = preparation.metadata(obj)
        preparation.give_name(call, obj, self.stamps)
        if call.resource.definition.terminating:
            why = "create not allowed while custom resource definition is terminating"
            raise status.forbidden(call.resource.group, call.resource.plural, call.name, why)
        if meta.get("ownerReferences"):
            await self._deduplicate(call, meta)
        if not call.resource.definition.allocates:
            return await self._create(call, obj, attributes, tracks=True)
        fresh, told = orjson.dumps(obj), len(call.warnings)
        for _ in range(MAX_RETRIES):
            del call.warnings[told:]
            obj = orjson.loads(fresh)
            attributes = Attributes("CREATE", call, obj, None, call.options.dry_run)
            with contextlib.suppress(Taken):
                return await self._create(call, obj, attributes, tracks=True)
        raise status.conflict(call.resource.group, call.resource.plural, call.name)

    async def _create(
        self, call: Call, obj: Object, attributes: Attributes, *, tracks: bool
    ) -> Outcome:
        """Store a new object; with `tracks` its ownership is worked out here. Raises Taken where
        another process came to what the object was given."""
        return await self._holding(call, self._created(call, obj, attributes, tracks=tracks))

    async def _holding(self, call: Call, work: Awaitable[Outcome]) -> Outcome:
        """Carry a write out, and let go of what it holds when it is over: undone where it is
        refused."""
        reservation = call.reservation = Reservation()
        call.beside = ()
        try:
            return await work
        except BaseException:
            if reservation.has_written:
                await to_the_end(reservation.undo(partial(self._current, call)))
            raise
        finally:
            call.reservation = None
            reservation.release()

    def _current(self, call: Call) -> Object | None:
        entry = self.store.get(call.key)
        return None if entry is None else entry.value

    async def _created(
        self, call: Call, obj: Object, attributes: Attributes, *, tracks: bool
    ) -> Outcome:
        late = tracks and self._may_track_late(attributes, obj)
        if tracks and not late:
            await self._track(call, None, obj, self.stamps.timestamp())
        await self._mutate(attributes)
        time = self.stamps.timestamp()
        await self.worker.run(call.effort, preparation.before_create, call, obj, self.stamps, time)
        if late:
            await self._track(call, None, obj, time)
        await self.chain.validate(attributes)
        if not call.options.dry_run:  # DryRunnableStorage.Create looks at names only
            preparation.drop_version(preparation.metadata(obj))
        reserves = self.chain.reserves(attributes)
        commit = self._commits.create(call, obj)
        return await (self._carry_out(call, reserves, commit) if reserves else commit)

    async def _carry_out(
        self, call: Call, reserves: Sequence[Reserve], commit: Coroutine[Any, Any, Outcome]
    ) -> Outcome:
        """Write what has to stand beside an object, then the object itself.

        Once something is written elsewhere the work runs to its end, even if the client goes away:
        it has to be known whether it is to be undone.
        """
        reservation = call.reservation
        assert reservation is not None, "made where the write began"

        async def work() -> Outcome:
            try:
                for reserve in reserves:
                    await reserve(reservation)
            except BaseException:
                commit.close()
                raise
            outcome = await commit
            reservation.stored()
            return outcome

        return await to_the_end(work())

    def _may_track_late(self, attributes: Attributes, obj: Object) -> bool:
        """Whether the ownership of a new object is the same once it has been validated: so it is
        not worked out of what is refused, which takes a tenth of such a request.

        Entries that come with it may be wrong, which is told before; members that no object begins
        with are owned by who sends them all the same.
        """
        return (
            attributes.call.resource.definition.late_ownership
            and preparation.NEVER_FIRST.isdisjoint(obj["metadata"])
            and not self.chain.changes(attributes)
        )

    async def _track(self, call: Call, old: Object | None, obj: Object, time: str) -> None:
        """Record who set what; ownership changes nothing else of the object."""
        first = old is None
        if first and await self.worker.run(call.effort, ownership.track_first, call, obj, time):
            return
        steps = ownership.track(call, old, obj, time)
        waits = call.resource.converter is not None
        await self.worker.finish(call.effort, steps, waits=waits)

    async def shown(self, call: Call, entries: Sequence[Entry]) -> Sequence[Entry]:
        """The entries as the call's version shows them; to be viewed. Raises StatusError 500."""
        if call.resource.converter is None:
            return entries
        return await conversions.shown(call.resource, call.served, entries)

    async def update(self, call: Call, change: Update) -> Outcome:
        """Replace what is stored by what `change` makes of it."""
        await self._turns.stage()
        if not call.is_current:
            await self.store.current()
        told = len(call.warnings)
        for _ in range(MAX_RETRIES):
            del call.warnings[told:]  # of a state that is another one now
            if call.options.dry_run:  # which changes nothing for others
                outcome = await self._attempt(call, change, None)
            else:
                async with self._queues.turn(call.key) as turn:
                    outcome = await self._attempt(call, change, turn)
            if outcome is not None:
                return outcome
        raise preparation.stale(call)

    async def _attempt(self, call: Call, change: Update, turn: Turn | None) -> Outcome | None:
        """Read, change, write; None where others wrote meanwhile and the change allows to try
        again. It begins with what the write before stores, where it may and that is not stored."""
        try:
            if turn is not None:
                if change.foresees and turn.ahead is not None and self._foresees(call, turn.ahead):
                    outcome = await self._update_ahead(call, change, turn, turn.ahead)
                    if outcome is not None:
                        return outcome
                await turn.settled()
            entry = self.store.get(call.key)
            if entry is not None:
                return await self._update(call, change, entry, turn)
        except (storage_errors.NotFound, Taken):
            return None  # deleted meanwhile, or somebody else came to what was given to it
        except storage_errors.Conflict as error:
            if not change.retry:
                raise preparation.stale(call) from error
            return None
        try:
            return await self._update_missing(call, change)
        except Taken:
            return None
        except status.StatusError as error:
            if error.reason != status.Reason.ALREADY_EXISTS:
                raise
            return None  # created meanwhile

    def _foresees(self, call: Call, ahead: Ahead) -> bool:
        """Whether a state may be worked on that is not stored: nobody beyond this process, and no
        other write, is shown it, and the object lives on."""
        resource = call.resource
        alone = resource.converter is None and resource.transactor is None
        lives = "deletionTimestamp" not in ahead.value["metadata"]
        return alone and lives and self.chain.is_alone(resource, "UPDATE")

    async def _update_ahead(
        self, call: Call, change: Update, turn: Turn, ahead: Ahead
    ) -> Outcome | None:
        """As `_update`, of the state that is to come. Nothing is answered that a state never stored
        led to: None where it is refused, which has to be seen again with what is stored."""
        told = len(call.warnings)
        entry = self.store.shown(ahead.entry, ahead.value)
        try:
            outcome = await self._update(call, change, entry, turn, ahead.underway)
        except status.StatusError:
            del call.warnings[told:]
            return None
        if outcome.changed:
            return outcome
        stored = await ahead.underway.outcome()
        return None if stored is None else outcome._replace(entry=stored[0])

    async def _update_missing(self, call: Call, change: Update) -> Outcome:
        if not change.create:
            raise status.not_found(call.resource.group, call.resource.plural, call.name)
        obj = await self._transformed(call, change, None)
        meta = preparation.metadata(obj)
        if meta.get("uid"):
            raise preparation.wrong_uid(call, meta["uid"], "")
        if not call.options.dry_run:  # DryRunnableStorage.Create keeps what was sent
            meta.pop("resourceVersion", None)
        if call.resource.namespaced:
            meta["namespace"] = call.namespace
        attributes = Attributes("CREATE", call, obj, None, call.options.dry_run)
        return await self._create(call, obj, attributes, tracks=change.tracks)

    async def _update(
        self,
        call: Call,
        change: Update,
        entry: Entry,
        turn: Turn | None,
        after: Underway | None = None,
    ) -> Outcome:
        """Change an entry: a stored one, or the one that the write `after` is to store. A dry run
        has no turn."""
        return await self._holding(call, self._updated(call, change, entry, turn, after))

    async def _updated(
        self,
        call: Call,
        change: Update,
        entry: Entry,
        turn: Turn | None,
        after: Underway | None,
    ) -> Outcome:
        [shown] = await self.shown(call, [entry])
        old = call.view(shown)
        call.weight = max(call.weight, len(entry.data))
        obj = await self._transformed(
            call, change, old if change.shares else self.copy(call, shown)
        )
        attributes = Attributes("UPDATE", call, obj, old, call.options.dry_run)
        meta = preparation.metadata(obj)
        if meta.get("ownerReferences") and not change.is_patch:
            await self._deduplicate(call, meta)
        if change.tracks:
            await self._track(call, old, obj, self.stamps.timestamp())
        await self._mutate(attributes)
        preparation.check_version(call, obj, entry)
        await self.worker.run(call.effort, preparation.before_update, call, obj, old, self.stamps)
        await self.chain.validate(attributes)
        managedfields.keep_times(old, obj)
        reserves = self.chain.reserves(attributes)
        commit = self._commits.update(call, obj, entry, turn, after)
        return await (self._carry_out(call, reserves, commit) if reserves else commit)

    async def _transformed(self, call: Call, change: Update, old: Object | None) -> Object:
        """The new object, made beside the loop where that may take long."""
        made = await self.worker.run(call.effort, change.transform, old)
        if isinstance(made, dict):
            return made
        waits = call.resource.converter is not None
        return await self.worker.finish(call.effort, made, waits=waits)

    async def _mutate(self, attributes: Attributes) -> None:
        """Mutating admission; entries of managedFields it breaks are put back."""
        obj = attributes.object
        assert obj is not None, "only creates and updates come here"
        sent = obj["metadata"].get("managedFields")
        await self.chain.mutate(attributes)
        meta = obj["metadata"]
        if meta.get("managedFields"):
            warning = managedfields.admitted(sent, obj)
            if warning:
                attributes.call.warn(warning)
        if meta.get("ownerReferences"):
            await self._deduplicate(attributes.call, meta, admitted=True)

    async def _deduplicate(self, call: Call, meta: Object, *, admitted: bool = False) -> None:
        drop = partial(ownerreferences.deduplicate, call, meta, admitted=admitted)
        await self.worker.run(call.effort, drop)

    def copy(self, call: Call, entry: Entry) -> Object:
        """The same as `call.view`, to be changed freely."""
        if call.resource.shows(entry, call.served):
            obj: Object = orjson.loads(entry.data)
            return obj
        copied: Object = orjson.loads(orjson.dumps(call.view(entry)))
        return copied

    async def delete(self, call: Call, options: DeleteOptions, *, admits: bool = True) -> Outcome:
        """Delete, or mark as being deleted while finalizers hold it.

        `admits` says whether admission is asked; an eviction was admitted itself.
        """
        if not call.is_current:
            await self.store.current()
        for _ in range(MAX_RETRIES):
            try:
                if options.dry_run:
                    return await self._delete(call, options, admits=admits)
                async with self._queues.turn(call.key) as turn:
                    await turn.settled()
                    return await self._delete(call, options, admits=admits)
            except (storage_errors.Conflict, storage_errors.NotFound):
                continue
        raise status.conflict(call.resource.group, call.resource.plural, call.name)

    async def _delete(self, call: Call, options: DeleteOptions, *, admits: bool) -> Outcome:
        entry = self.get(call)
        deletion.check_preconditions(call, entry, options)
        [shown] = await self.shown(call, [entry])
        old = call.view(shown)
        if admits:
            attributes = Attributes("DELETE", call, None, old, options.dry_run, options)
            await self.chain.mutate(attributes)
            await self.chain.validate(attributes)
        plan = deletion.plan(call, self.copy(call, shown), options, self.stamps)
        return await self._commits.delete(call, plan, entry, dry_run=options.dry_run)
