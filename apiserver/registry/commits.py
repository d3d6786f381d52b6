"""The last step of a write: what every check let pass is turned into what is kept, and committed.

In comes an object in the version of its request, out comes an `Outcome`, or what storage raises. A
kind's transaction is entered here, where it has one. A dry run is another store, not another path.
`create`, `update` and `delete` call this.
"""

from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, NamedTuple

import orjson

from inkube.apiserver.registry import conversions, deletion
from inkube.apiserver.registry.calls import Call
from inkube.apiserver.registry.requests import Parts, WriteRequest
from inkube.apiserver.registry.resources import Resource
from inkube.apiserver.registry.transactions import Pending, to_the_end
from inkube.schemas import status
from inkube.schemas.golang import gojson
from inkube.schemas.objects import Object, same
from inkube.schemas.strategy import Reservation
from inkube.storage import Entry, ShownEntry, writes
from inkube.storage import errors as storage_errors

MAX_OBJECT = 1_572_864  # etcd's default request limit, which the reference's clients meet
MAX_RETRIES = 100  # where others write what is committed with an object
GENERATE_RETRIES = 8  # as CreateWithGenerateName retries


class Outcome(NamedTuple):
    """What a write led to; `entry` is the stored state, to be shown by `Registry.shown`."""

    entry: Entry
    created: bool = False
    deleted: bool = False
    changed: bool = True


async def create(parts: Parts, write: WriteRequest) -> Outcome:
    """Store a new object, under another name where a generated one is taken.

    Raises StatusError 409 for a name that was given.
    """
    call, obj = write.call, _object(write)
    if call.resource.transactor is not None:
        try:
            return await to_the_end(_transact(parts, write, _pending(write, obj)))
        except storage_errors.AlreadyExists as error:
            raise _taken(write) from error
        except storage_errors.PreconditionError as error:  # of what is written beside it
            resource = call.resource
            raise status.conflict(resource.group, resource.plural, call.name) from error
    for attempt in range(GENERATE_RETRIES):
        stored = await _stored(parts, call, obj)
        try:
            return Outcome(await _commit(write, writes.Create(call.key, stored)), created=True)
        except storage_errors.AlreadyExists as error:
            if not call.generated or attempt == GENERATE_RETRIES - 1:
                raise _taken(write) from error
            name = parts.stamps.generate_name(call.generated)
            obj["metadata"]["name"] = call.name = name
    raise AssertionError("unreachable: the loop returns or raises")


def _taken(write: WriteRequest) -> status.StatusError:
    call = write.call
    entry = write.store.get(call.key)
    terminating = entry is not None and "deletionTimestamp" in entry.value["metadata"]
    return status.already_exists(
        call.resource.group, call.resource.plural, call.name, terminating=terminating
    )


async def update(parts: Parts, write: WriteRequest) -> Outcome:
    """Store an object in the place of the one that is there. It goes where that takes from it the
    last that held it. Raises storage's Conflict and NotFound."""
    call, obj, entry = write.call, _object(write), _entry(write)
    if call.resource.transactor is not None:
        pending = _pending(write, obj)
        if call.resource.is_view:
            pending.record = orjson.loads(entry.data)
        else:
            pending.goes = deletion.is_finished(call, obj, entry.value)
        return await to_the_end(_transact(parts, write, pending))
    stored = await _stored(parts, call, obj)
    if deletion.is_finished(call, obj, entry.value):
        await write.store.commit([writes.Delete(entry.key, entry.revision, stored)])
        # the reference answers the final state under the version it was deleted at
        return Outcome(write.store.shown(entry, stored), deleted=True)
    if _same_state(stored, entry.value):
        return Outcome(entry, changed=False)
    return Outcome(await _commit(write, writes.replace(entry, stored)))


async def delete(parts: Parts, write: WriteRequest, plan: deletion.Plan) -> Outcome:
    """Store the last state that the plan has, and remove the object if it goes.

    Raises storage's Conflict and NotFound.
    """
    call, entry = write.call, _entry(write)
    if call.resource.transactor is not None:
        pending = _pending(write, plan.state)
        pending.goes = plan.goes
        return await to_the_end(_transact(parts, write, pending))
    stored = None if plan.state is None else await _stored(parts, call, plan.state)
    changed = stored is not None and not _same_state(stored, entry.value)
    if stored is not None and changed:
        entry = await write.store.update(entry.key, stored, entry.revision)
    if plan.goes:
        await write.store.delete(entry.key, entry.revision)
    return Outcome(entry, deleted=plan.goes, changed=changed)


Commit = Callable[[Parts, WriteRequest], Coroutine[Any, Any, Outcome]]


def carried_out(parts: Parts, write: WriteRequest, commit: Commit) -> Awaitable[Outcome]:
    """Commit an object as it is to be stored, once what stands beside it is written.

    Raises StatusError 500 for a new object that names its version, and what `commit` raises.
    """
    try:
        write.store.strip(_object(write), is_new=write.entry is None)
    except storage_errors.RevisionNamed as error:
        raise status.unknown(str(error)) from error
    work = commit(parts, write)
    return to_the_end(_with_effects(write, work)) if write.effects else work


async def _with_effects(write: WriteRequest, commit: Coroutine[Any, Any, Outcome]) -> Outcome:
    """Write what has to stand beside an object, then the object itself; undo the first where the
    second is refused.

    Once something is written elsewhere the work runs to its end, even if the client goes away: it
    has to be known whether it is to be undone.
    """
    with write.reservation or Reservation() as reservation:
        try:
            for effect in write.effects:
                await effect(reservation)
            outcome = await commit
        except BaseException:
            commit.close()
            await reservation.undo(partial(_current, write))
            raise
        reservation.stored()
        return outcome


def _current(write: WriteRequest) -> Object | None:
    entry = write.store.get(write.call.key)
    return None if entry is None else entry.value


async def _commit(write: WriteRequest, own: writes.Write) -> Entry:
    """Commit a write of the object with what belongs to it. Raises what storage raises of its key,
    and Taken where somebody else came to what the object was given."""
    if write.reservation is not None:
        for check in write.reservation.checks:
            own = writes.Guarded(own, check)
    if not write.beside:
        return (await write.commit((own,)))[0]
    call = write.call
    for _ in range(MAX_RETRIES):
        beside = [each for make in write.beside for each in make()]
        try:
            *_, entry = await write.commit([*beside, own])
        except storage_errors.PreconditionError as error:
            if error.key == own.key:
                raise
            await write.store.current()
        else:
            return entry
    raise status.conflict(call.resource.group, call.resource.plural, call.name)


async def _transact(parts: Parts, write: WriteRequest, pending: Pending) -> Outcome:
    """Carry a write out within its kind's transaction. Raises what storage raises."""
    transactor = write.call.resource.transactor
    assert transactor is not None, "asked by the caller"
    async with transactor(pending):
        own = await _own_write(parts, write, pending)
        charges = [each for make in write.beside for each in make()]
        batch = [*([] if own is None else [own]), *pending.beside, *charges]
        made = await write.store.commit(batch) if batch else []
        entry = _entry(write) if own is None else made[0]
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


async def _own_write(parts: Parts, write: WriteRequest, pending: Pending) -> writes.Write | None:
    """What a transaction stores of the object it is about; None where nothing differs."""
    call, entry = write.call, pending.entry
    state = pending.record if pending.record is not None else pending.obj
    stored = state
    if state is not None and pending.record is None:
        stored = await _stored(parts, call, state)
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
    return writes.replace(entry, stored)


def _object(write: WriteRequest) -> Object:
    assert write.object is not None, "creates and updates have an object"
    return write.object


def _entry(write: WriteRequest) -> Entry:
    assert write.entry is not None, "what changes or deletes has something to change"
    return write.entry


def _pending(write: WriteRequest, obj: Object | None) -> Pending:
    call = write.call
    return Pending(
        write.operation,
        call.key,
        call.namespace,
        call.name,
        write.entry,
        obj,
        subresource=call.subresource,
        user=call.user.name,
        dry_run=write.dry_run,
        warn=call.warn,
    )


async def _stored(parts: Parts, call: Call, obj: Object) -> Object:
    """As it is kept, in the storage version. Raises StatusError 500 where it is too large."""
    resource = call.resource
    if resource.converter is None:
        return await parts.worker.run(call.effort, _to_be_stored, resource, obj)
    size = _settle_numbers(obj)
    stored = await conversions.to_storage(resource, obj)
    return _fitting(stored, obj, size)


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
