"""The last step of a write: an accepted object is converted to its stored form and committed.

Input is an object in the version of its request. Output is an `Outcome`, or an error of storage. If
a kind has a transaction, it is entered here. A dry run is another store, not another path.
`create`, `update` and `delete` call this.
"""

from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any

import orjson

from inkube.apiserver.registry import deletion, storedforms
from inkube.apiserver.registry.transactions import to_the_end
from inkube.apiserver.registry.write import Outcome, Write
from inkube.schemas import status
from inkube.schemas.objects import Object, same
from inkube.schemas.strategy import Reservation
from inkube.storage import Entry, TransientEntry, errors, writes

MAX_RETRIES = 100  # attempts while other writes change an object of the same commit
GENERATE_RETRIES = 8  # as CreateWithGenerateName retries


async def create(write: Write) -> Outcome:
    """Store a new object. If a generated name is taken, try again with another one.

    Raises AlreadyExists of storage if the client's name is taken, or after GENERATE_RETRIES names.
    """
    obj = write.new
    if write.request.resource.transactor is not None:
        return await to_the_end(_transact(write))
    for left in reversed(range(GENERATE_RETRIES)):
        stored = await storedforms.of(write, obj)
        try:
            return Outcome(await _commit(write, writes.Create(write.key, stored)), created=True)
        except errors.AlreadyExists:
            if not (write.generated_prefix and left):
                raise
            name = write.engine.system_fields.generate_name(write.generated_prefix)
            obj["metadata"]["name"] = name
            write.give_name(name)
    raise AssertionError("unreachable: the loop returns or raises")


async def update(write: Write) -> Outcome:
    """Replace the stored object, or remove it if it is being deleted and the update removes the
    last finalizer. Raises Conflict and NotFound of storage."""
    resource, obj, entry = write.request.resource, write.new, write.stored
    if resource.transactor is not None:
        if resource.is_view:
            write.record = orjson.loads(entry.data)
        else:
            write.goes = deletion.is_finished(resource, obj, entry.value)
        return await to_the_end(_transact(write))
    stored = await storedforms.of(write, obj)
    if deletion.is_finished(resource, obj, entry.value):
        await write.commit_to_store([writes.Delete(entry.key, entry.revision, stored)])
        # the reference returns the final state with the version of the deletion
        return Outcome(write.store.with_value(entry, stored), deleted=True)
    if _same_state(stored, entry.value):
        return Outcome(entry, changed=False)
    return Outcome(await _commit(write, writes.replace(entry, stored)))


async def delete(write: Write) -> Outcome:
    """Store the last state of the object, and remove the object if it goes.

    Raises Conflict and NotFound of storage.
    """
    entry, state = write.stored, write.object
    if write.request.resource.transactor is not None:
        return await to_the_end(_transact(write))
    stored = None if state is None else await storedforms.of(write, state)
    changed = stored is not None and not _same_state(stored, entry.value)
    if stored is not None and changed:
        last = writes.Update(entry.key, stored, entry.revision)
        [entry] = await write.commit_to_store([last])
    if write.goes:
        removal = writes.Delete(entry.key, entry.revision, stored if changed else None)
        [entry] = await write.commit_to_store([removal])
    return Outcome(entry, deleted=write.goes, changed=changed)


def carried_out(
    write: Write, commit: Callable[[Write], Coroutine[Any, Any, Outcome]]
) -> Awaitable[Outcome]:
    """Carry out the effects of the write, then commit the object.

    Raises RevisionNamed for a new object with a resourceVersion, and the errors of `commit`.
    """
    write.store.strip(write.new, is_new=write.entry is None)
    work = commit(write)
    return to_the_end(_with_effects(write, work)) if write.effects else work


async def _with_effects(write: Write, commit: Coroutine[Any, Any, Outcome]) -> Outcome:
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


def _current(write: Write) -> Object | None:
    entry = write.store.get(write.key)
    return None if entry is None else entry.value


async def _commit(write: Write, object_write: writes.Write) -> Entry:
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
    for _ in range(MAX_RETRIES):
        beside = [each for make in write.beside for each in make()]
        try:
            *_, entry = await write.commit([*beside, object_write])
        except errors.PreconditionError as error:
            if error.key == object_write.key:
                raise
            await write.store.current()
        else:
            return entry
    resource = write.request.resource
    raise status.conflict(resource.group, resource.plural, write.name)


async def _transact(write: Write) -> Outcome:
    """Carry a write out within its kind's transaction. Raises errors of storage and of the
    transaction."""
    transactor = write.request.resource.transactor
    assert transactor is not None, "asked by the caller"
    further: list[writes.Write] = []
    async with transactor(write, further):
        own = await _own_write(write)
        charges = [each for make in write.beside for each in make()]
        batch = [*([] if own is None else [own]), *further, *charges]
        made = await write.commit_to_store(batch) if batch else []
        entry = write.stored if own is None else made[0]
    changed = bool(batch)
    if write.record is not None and write.object is not None:
        # the client of a view receives the object as the transaction changed it
        shown = write.object["metadata"]
        shown["resourceVersion"] = str(entry.revision)
        for member in ("generation", "managedFields"):  # only the stored record has these
            shown.pop(member, None)
        entry = TransientEntry(entry, orjson.dumps(write.object), write.object)
    created = write.operation == "CREATE"
    return Outcome(entry, created=created, deleted=write.goes, changed=changed)


async def _own_write(write: Write) -> writes.Write | None:
    """Return the write of the transaction's own object, or None if it equals the stored state."""
    entry, stored = write.entry, write.record
    if stored is None and write.object is not None:
        stored = await storedforms.of(write, write.object)
    if entry is None:
        assert stored is not None, "a create has an object"
        return writes.Create(write.key, stored)
    if stored is not None:
        stored["metadata"].pop("resourceVersion", None)
    if write.goes:
        return writes.Delete(entry.key, entry.revision, stored)
    assert stored is not None, "only what goes leaves nothing"
    if _same_state(stored, entry.value):
        return None
    return writes.replace(entry, stored)


def _same_state(new: Object, old: Object) -> bool:
    """Return whether both states are equal, apart from the stored resourceVersion."""
    old_meta, new_meta = old["metadata"], new["metadata"]
    if len(new) != len(old) or len(new_meta) + ("resourceVersion" not in new_meta) != len(old_meta):
        return False
    return same(
        {**new, "metadata": {**new_meta, "resourceVersion": old_meta["resourceVersion"]}}, old
    )
