"""A delete: the stages from the stored object to its removal, or to its deletionTimestamp.

Follows `Store.Delete` of generic/registry/store.go. `deletion` decides between the two. `registry`
repeats attempts that lose a race.
"""

from collections.abc import Awaitable

from inkube.apiserver.registry import commits, conversions, deletion
from inkube.apiserver.registry.calls import DeleteOptions
from inkube.apiserver.registry.commits import Outcome
from inkube.apiserver.registry.requests import Parts, WriteRequest
from inkube.schemas import status
from inkube.storage import Entry


async def delete(parts: Parts, write: WriteRequest, options: DeleteOptions) -> Outcome:
    """Delete the object, or set its deletionTimestamp while finalizers or a grace period keep it.

    Raises StatusError, and errors of storage if another write changed the object meanwhile.
    """
    shown = await check(write, options)
    await mutate(parts, write)
    await admit(parts, write)
    decided = plan(parts, write, shown, options)
    return await store(parts, write, decided)


async def check(write: WriteRequest, options: DeleteOptions) -> Entry:
    """Return the entry in the request's version. Raises StatusError 404 if the object is not
    stored, and 409 if it does not meet the preconditions."""
    call, entry = write.call, write.entry
    if entry is None:
        raise status.not_found(call.resource.group, call.resource.plural, call.name)
    deletion.check_preconditions(call, entry, options)
    [shown] = await conversions.shown(call.resource, call.served, [entry])
    write.old = call.view(shown)
    return shown


async def mutate(parts: Parts, write: WriteRequest) -> None:
    """Run mutating admission. A delete has no new object that plugins could change."""
    if not write.is_admitted:
        await parts.chain.mutate(write)


async def admit(parts: Parts, write: WriteRequest) -> None:
    """Run validating admission."""
    if not write.is_admitted:
        await parts.chain.validate(write)


def plan(parts: Parts, write: WriteRequest, entry: Entry, options: DeleteOptions) -> deletion.Plan:
    """Decide about the grace period, finalizers and dependents.

    The last state shares members with the stored object, because only a kind's own deletion or
    transaction changes more than the metadata. To copy all members takes a tenth of a deletion.
    """
    call, old = write.call, write.old
    assert old is not None, "see `check`"
    if call.resource.definition.deletes_in_phases or call.resource.transactor is not None:
        state = call.copy(entry)
    else:
        state = {**old, "metadata": {**old["metadata"]}}
    return deletion.plan(call, state, options, parts.system_fields)


def store(parts: Parts, write: WriteRequest, plan_: deletion.Plan) -> Awaitable[Outcome]:
    """Commit the last state of the plan, and remove the object if the plan says so."""
    return commits.delete(parts, write, plan_)
