"""The last step of a write: an accepted object is converted to its stored form and committed.

Input is an object in the version of its request. Output is an `Outcome`, or an error of storage. If
a kind has a transaction, it is entered here. A dry run is another store, not another path.
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
from inkube.storage import Entry, TransientEntry, writes
from inkube.storage import errors as storage_errors

MAX_OBJECT = 1_572_864  # bytes: etcd's default limit of requests, as in the reference
MAX_RETRIES = 100  # attempts while other writes change an object of the same commit
GENERATE_RETRIES = 8  # as CreateWithGenerateName retries


class Outcome(NamedTuple):
    """The result of a write. `entry` is the stored state; `Registry.shown` converts it."""

    entry: Entry
    created: bool = False
    deleted: bool = False
    changed: bool = True


async def create(parts: Parts, write: WriteRequest) -> Outcome:
    """Store a new object. If a generated name is taken, try again with another one.

    Raises StatusError 409 if the client's name is taken, or after GENERATE_RETRIES names.
    """
    call, obj = write.call, _object(write)
    if call.resource.transactor is not None:
        try:
            return await to_the_end(_transact(parts, write, _pending(write, obj)))
        except storage_errors.AlreadyExists as error:
            raise _already_exists(write) from error
        except storage_errors.PreconditionError as error:  # of another object
            resource = call.resource
            raise status.conflict(resource.group, resource.plural, call.name) from error
    for attempt in range(GENERATE_RETRIES):
        stored = await _stored(parts, call, obj)
        try:
            return Outcome(await _commit(write, writes.Create(call.key, stored)), created=True)
        except storage_errors.AlreadyExists as error:
            if not call.generated_prefix or attempt == GENERATE_RETRIES - 1:
                raise _already_exists(write) from error
            name = parts.system_fields.generate_name(call.generated_prefix)
            obj["metadata"]["name"] = call.name = name
    raise AssertionError("unreachable: the loop returns or raises")


def _already_exists(write: WriteRequest) -> status.StatusError:
    call = write.call
    entry = write.store.get(call.key)
    terminating = entry is not None and "deletionTimestamp" in entry.value["metadata"]
    return status.already_exists(
        call.resource.group, call.resource.plural, call.name, terminating=terminating
    )


async def update(parts: Parts, write: WriteRequest) -> Outcome:
    """Replace the stored object, or remove it if it is being deleted and the update removes the
    last finalizer. Raises Conflict and NotFound of storage."""
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
        # the reference returns the final state with the version of the deletion
        return Outcome(write.store.with_value(entry, stored), deleted=True)
    if _same_state(stored, entry.value):
        return Outcome(entry, changed=False)
    return Outcome(await _commit(write, writes.replace(entry, stored)))


async def delete(parts: Parts, write: WriteRequest, plan: deletion.Plan) -> Outcome:
    """Store the last state of the plan, and remove the object if the plan says so.

    Raises Conflict and NotFound of storage.
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
    """Carry out the effects of the write, then commit the object.

    Raises StatusError 500 for a new object with a resourceVersion, and the errors of `commit`.
    """
    try:
        write.store.strip(_object(write), is_new=write.entry is None)
    except storage_errors.RevisionNamed as error:
        raise status.unknown(str(error)) from error
    work = commit(parts, write)
    return to_the_end(_with_effects(write, work)) if write.effects else work


async def _with_effects(write: WriteRequest, commit: Coroutine[Any, Any, Outcome]) -> Outcome:
    """Carry out the effects, then commit the object. Undo the effects if the commit fails.

    After the first effect the work runs to its end, even if the client disconnects, because only
    the end shows whether the effects must be undone.
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


async def _commit(write: WriteRequest, object_write: writes.Write) -> Entry:
    """Commit a write of the object together with the writes next to it. Raises the errors of
    storage for the object's key, and ReservationLost if another process reserved the same address
    or port.

    Raises StatusError 409 after MAX_RETRIES conflicts of the other writes.
    """
    if write.reservation is not None:
        for check in write.reservation.checks:
            object_write = writes.Guarded(object_write, check)
    if not write.beside:
        return (await write.commit((object_write,)))[0]
    call = write.call
    for _ in range(MAX_RETRIES):
        beside = [each for make in write.beside for each in make()]
        try:
            *_, entry = await write.commit([*beside, object_write])
        except storage_errors.PreconditionError as error:
            if error.key == object_write.key:
                raise
            await write.store.current()
        else:
            return entry
    raise status.conflict(call.resource.group, call.resource.plural, call.name)


async def _transact(parts: Parts, write: WriteRequest, pending: Pending) -> Outcome:
    """Carry a write out within its kind's transaction. Raises errors of storage and of the
    transaction."""
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
        # the client of a view receives the object as the transaction changed it
        shown = pending.obj["metadata"]
        shown["resourceVersion"] = str(entry.revision)
        for member in ("generation", "managedFields"):  # only the stored record has these
            shown.pop(member, None)
        entry = TransientEntry(entry, orjson.dumps(pending.obj), pending.obj)
    created = pending.operation == "CREATE"
    return Outcome(entry, created=created, deleted=pending.goes, changed=changed)


async def _own_write(parts: Parts, write: WriteRequest, pending: Pending) -> writes.Write | None:
    """Return the write of the transaction's own object, or None if it equals the stored state."""
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
    """Convert an object to the storage version. Raises StatusError 500 if it is larger than
    MAX_OBJECT."""
    resource = call.resource
    if resource.converter is None:
        return await parts.worker.compute(call, _to_be_stored, resource, obj)
    size = _settle_numbers(obj)
    stored = await conversions.to_storage(resource, obj)
    return _fitting(stored, obj, size)


def _same_state(new: Object, old: Object) -> bool:
    """Return whether both states are equal, apart from the stored resourceVersion."""
    old_meta, new_meta = old["metadata"], new["metadata"]
    if len(new) != len(old) or len(new_meta) + ("resourceVersion" not in new_meta) != len(old_meta):
        return False
    return same(
        {**new, "metadata": {**new_meta, "resourceVersion": old_meta["resourceVersion"]}}, old
    )


def _to_be_stored(resource: Resource, obj: Object) -> Object:
    size = _settle_numbers(obj)
    return _fitting(conversions.to_storage_at_once(resource, obj), obj, size)


def _settle_numbers(obj: Object) -> int:
    """Replace whole floats by integers, as Go writes them (`gojson.settle_numbers`). Returns the
    size of the object's JSON before that, in bytes."""
    data = orjson.dumps(obj)
    if gojson.may_hold_floats(data):
        gojson.settle_numbers(obj)
    return len(data)


def _fitting(stored: Object, obj: Object, size: int) -> Object:
    """Return the stored form. `size` is the bytes of `obj`. Raises StatusError 500 if the stored
    form is larger than MAX_OBJECT without its managedFields."""
    if stored is not obj:
        size = len(orjson.dumps(stored))
    if size > MAX_OBJECT and size - _owned(stored) > MAX_OBJECT:
        raise status.unknown("etcdserver: request is too large")
    return stored


def _owned(obj: Object) -> int:
    """Return the number of bytes of managedFields.

    They do not count toward MAX_OBJECT, because clients do not send them: the reference accepts
    60,000 labels, although managedFields make such an object too large.
    """
    return len(orjson.dumps(obj["metadata"].get("managedFields")))
