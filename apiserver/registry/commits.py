"""The last step of a write: what every check let pass is turned into what is kept, and committed.

In comes an object in the version of its request, out comes an `Outcome`, or what storage raises. A
kind's transaction is entered here, where it has one. A dry run is another store, not another path.
`registry.Registry` calls this.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import orjson

from inkube.apiserver.registry import conversions, deletion
from inkube.apiserver.registry.admission import Operation
from inkube.apiserver.registry.calls import Call
from inkube.apiserver.registry.queues import Ahead, Turn
from inkube.apiserver.registry.resources import Resource
from inkube.apiserver.registry.stamps import Stamps
from inkube.apiserver.registry.transactions import Pending, to_the_end
from inkube.apiserver.registry.worker import Worker
from inkube.schemas import status
from inkube.schemas.golang import gojson
from inkube.schemas.objects import Object, same
from inkube.storage import errors as storage_errors
from inkube.storage import writes
from inkube.storage.entry import Entry, ShownEntry
from inkube.storage.store import Store, Underway

MAX_OBJECT = 1_572_864  # etcd's default request limit, which the reference's clients meet
MAX_RETRIES = 100  # where others write what is committed with an object
GENERATE_RETRIES = 8  # as CreateWithGenerateName retries


class Outcome(NamedTuple):
    """What a write led to; `entry` is the stored state, to be shown by `Registry.shown`."""

    entry: Entry
    created: bool = False
    deleted: bool = False
    changed: bool = True


class Commits:
    """One for all kinds of a store; the Call says which."""

    def __init__(self, store: Store, stamps: Stamps, worker: Worker) -> None:
        self._store = store
        self._dry = store.dry_run(asks=False)  # the registry asked when the request came
        self._stamps = stamps
        self._worker = worker

    async def create(self, call: Call, obj: Object) -> Outcome:
        """Store a new object, under another name where a generated one is taken.

        Raises StatusError 409 for a name that was given.
        """
        if call.resource.transactor is not None:
            pending = _pending("CREATE", call, None, obj)
            try:
                return await to_the_end(self._transact(call, pending))
            except storage_errors.AlreadyExists as error:
                raise self._taken(call) from error
            except storage_errors.PreconditionError as error:  # of what is written beside it
                resource = call.resource
                raise status.conflict(resource.group, resource.plural, call.name) from error
        store = self._dry if call.options.dry_run else self._store
        for attempt in range(GENERATE_RETRIES):
            stored = await self._stored(call, obj)
            try:
                if not call.options.dry_run and (call.beside or _checks(call)):
                    entry = await self._write(call, writes.Create(call.key, stored))
                else:
                    entry = await store.create(call.key, stored)
                return Outcome(entry, created=True)
            except storage_errors.AlreadyExists as error:
                if not call.generated or attempt == GENERATE_RETRIES - 1:
                    raise self._taken(call) from error
                name = self._stamps.generate_name(call.generated)
                obj["metadata"]["name"] = call.name = name
        raise AssertionError("unreachable: the loop returns or raises")

    def _taken(self, call: Call) -> status.StatusError:
        entry = self._store.get(call.key)
        terminating = entry is not None and "deletionTimestamp" in entry.value["metadata"]
        return status.already_exists(
            call.resource.group, call.resource.plural, call.name, terminating=terminating
        )

    async def update(
        self, call: Call, obj: Object, entry: Entry, turn: Turn | None, after: Underway | None
    ) -> Outcome:
        """Store an object in the place of `entry`, which may be what the write `after` is to store.

        It goes where that takes from it the last that held it. `turn` is handed on as soon as the
        next writer may go on; a dry run has none. Raises storage's Conflict and NotFound.
        """
        dry_run = call.options.dry_run
        obj["metadata"].pop("resourceVersion", None)
        if not dry_run:  # the storage drops it, and nothing before
            obj["metadata"].pop("selfLink", None)
        if call.resource.transactor is not None:
            pending = _pending("UPDATE", call, entry, obj)
            if call.resource.is_view:
                pending.record = orjson.loads(entry.data)
            else:
                pending.goes = deletion.is_finished(call, obj, entry.value)
            return await to_the_end(self._transact(call, pending))
        if deletion.is_finished(call, obj, entry.value):
            final = await self._stored(call, obj)
            await (self._dry if dry_run else self._store).delete(entry.key, entry.revision, final)
            # the reference answers the final state under the version it was deleted at
            shown = self._store.shown(entry, final)
            return Outcome(shown, deleted=True)
        stored = await self._stored(call, obj)
        if _same_state(stored, entry.value):
            return Outcome(entry, changed=False)
        if turn is None:
            stored["metadata"]["resourceVersion"] = str(entry.revision)
            return Outcome(await self._dry.update(entry.key, stored, entry.revision))
        write = writes.Update(entry.key, stored, entry.revision, after)
        if call.beside:
            return Outcome(await self._write(call, write))
        underway = await self._store.submit(_guarded(call, write))
        turn.hand_on(Ahead(entry, stored, underway))
        [changed] = await underway
        return Outcome(changed)

    async def _write(self, call: Call, write: writes.Write) -> Entry:
        """Commit a write with what belongs to it. Raises what storage raises of its own key."""
        for _ in range(MAX_RETRIES):
            beside = [each for make in call.beside for each in make()]
            try:
                *_, entry = await self._store.commit([*beside, _guarded(call, write)])
            except storage_errors.PreconditionError as error:
                if error.key == write.key:
                    raise
                await self._store.current()
            else:
                return entry
        raise status.conflict(call.resource.group, call.resource.plural, call.name)

    async def delete(
        self, call: Call, plan: deletion.Plan, entry: Entry, *, dry_run: bool
    ) -> Outcome:
        """Store the last state that the plan has, and remove the object if it goes.

        Raises storage's Conflict and NotFound.
        """
        if call.resource.transactor is not None:
            pending = _pending("DELETE", call, entry, plan.state)
            pending.goes, pending.dry_run = plan.goes, dry_run
            return await to_the_end(self._transact(call, pending))
        store = self._dry if dry_run else self._store
        stored = None if plan.state is None else await self._stored(call, plan.state)
        changed = stored is not None and not _same_state(stored, entry.value)
        if stored is not None and changed:
            entry = await store.update(entry.key, stored, entry.revision)
        if plan.goes:
            await store.delete(entry.key, entry.revision)
        return Outcome(entry, deleted=plan.goes, changed=changed)

    async def _transact(self, call: Call, pending: Pending) -> Outcome:
        """Carry a write out within its kind's transaction. Raises what storage raises."""
        transactor = call.resource.transactor
        assert transactor is not None, "asked by the caller"
        store = self._dry if pending.dry_run else self._store
        async with transactor(pending):
            own = await self._own_write(call, pending)
            charges = [each for make in call.beside for each in make()]
            batch = [*([] if own is None else [own]), *pending.beside, *charges]
            made = await store.commit(batch) if batch else []
            if own is not None:
                entry = made[0]
            else:
                assert pending.entry is not None, "a create writes"
                entry = pending.entry
        changed = bool(batch)
        if pending.record is not None and pending.obj is not None:
            # what a view's client is shown is what the transaction made of it
            shown = pending.obj["metadata"]
            shown["resourceVersion"] = str(entry.revision)
            for member in ("generation", "managedFields"):  # which are the record's alone
                shown.pop(member, None)
            entry = ShownEntry(entry, orjson.dumps(pending.obj), pending.obj)
        created = pending.operation == "CREATE"
        return Outcome(entry, created=created, deleted=pending.goes, changed=changed)

    async def _own_write(self, call: Call, pending: Pending) -> writes.Write | None:
        """What a transaction stores of the object it is about; None where nothing differs."""
        entry = pending.entry
        state = pending.record if pending.record is not None else pending.obj
        stored = state
        if state is not None and pending.record is None:
            stored = await self._stored(call, state)
        if entry is None:
            assert stored is not None, "a create has an object"
            return writes.Create(call.key, stored)
        if stored is not None:
            stored["metadata"].pop("resourceVersion", None)
        if pending.goes:
            return writes.Delete(entry.key, entry.revision, stored)
        assert stored is not None, "only what goes leaves nothing"
        if _same_state(stored, entry.value):
            return None
        if pending.dry_run:
            stored["metadata"]["resourceVersion"] = str(entry.revision)
        return writes.Update(entry.key, stored, entry.revision)

    async def _stored(self, call: Call, obj: Object) -> Object:
        """As it is kept, in the storage version. Raises StatusError 500 where it is too large."""
        resource = call.resource
        if resource.converter is None:
            return await self._worker.run(call.effort, _to_be_stored, resource, obj)
        size = _settle_numbers(obj)
        stored = await conversions.to_storage(resource, obj)
        return _fitting(stored, obj, size)


def _checks(call: Call) -> Sequence[Callable[[], None]]:
    return call.reservation.checks if call.reservation is not None else ()


def _guarded(call: Call, write: writes.Write) -> writes.Write:
    """The write, refused where somebody else came to what it holds."""
    for check in _checks(call):
        write = writes.Guarded(write, check)
    return write


def _pending(operation: Operation, call: Call, entry: Entry | None, obj: Object | None) -> Pending:
    return Pending(
        operation,
        call.key,
        call.namespace,
        call.name,
        entry,
        obj,
        subresource=call.subresource,
        user=call.user.name,
        dry_run=call.options.dry_run,
        warn=call.warn,
    )


def _same_state(new: Object, stored: Object) -> bool:
    """Whether a write would change nothing; the stored resourceVersion does not count."""
    old_meta, new_meta = stored["metadata"], new["metadata"]
    if len(new) != len(stored) or len(new_meta) + ("resourceVersion" not in new_meta) != len(
        old_meta
    ):
        return False
    return same(
        {**new, "metadata": {**new_meta, "resourceVersion": old_meta["resourceVersion"]}}, stored
    )


def _to_be_stored(resource: Resource, obj: Object) -> Object:
    size = _settle_numbers(obj)
    return _fitting(conversions.to_storage_at_once(resource, obj), obj, size)


def _settle_numbers(obj: Object) -> int:
    """Have them as Go writes them; how many bytes the object has."""
    data = orjson.dumps(obj)
    if gojson.may_hold_floats(data):
        gojson.settle_numbers(obj)
    return len(data)


def _fitting(stored: Object, obj: Object, size: int) -> Object:
    """What is stored of an object of that size. Raises StatusError 500 where it is too large."""
    if stored is not obj:
        size = len(orjson.dumps(stored))
    if size > MAX_OBJECT and size - _owned(stored) > MAX_OBJECT:
        raise status.unknown("etcdserver: request is too large")
    return stored


def _owned(obj: Object) -> int:
    """Bytes of what is kept about owners, which no client sends: the reference accepts 60,000
    labels, though with them an object would be too large."""
    return len(orjson.dumps(obj["metadata"].get("managedFields")))
