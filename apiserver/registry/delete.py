"""A delete: the stages from the stored object to its removal, or to its deletionTimestamp.

Follows `Store.Delete` of generic/registry/store.go. `deletion` decides between the two.
"""

from collections.abc import Awaitable

from inkube.apiserver.registry import commits, conversions, deletion
from inkube.apiserver.registry.requests import DeleteOptions
from inkube.apiserver.registry.stages import admit
from inkube.apiserver.registry.write import Outcome, Write
from inkube.schemas import status


async def delete(write: Write, options: DeleteOptions) -> Outcome:
    """Delete the object, or set its deletionTimestamp while finalizers or a grace period keep it.

    Raises StatusError, and errors of storage if another write changed the object meanwhile.
    """
    await check(write, options)
    await mutate(write)
    await admit(write)
    plan(write, options)
    return await store(write)


async def evict(write: Write, options: DeleteOptions) -> Outcome:
    """Delete an object as `delete` does, without admission, which has accepted the eviction."""
    await check(write, options)
    plan(write, options)
    return await store(write)


async def check(write: Write, options: DeleteOptions) -> None:
    """Find the object in the request's version. Raises StatusError 404 if it is not stored, and 409
    if it does not meet the preconditions."""
    request, entry = write.request, write.entry
    permanent, why = request.resource.definition.permanent
    if request.name in permanent and not request.in_collection:
        raise status.forbidden(request.resource.group, request.resource.plural, request.name, why)
    if entry is None:
        raise status.not_found(request.resource.group, request.resource.plural, request.name)
    deletion.check_preconditions(request, entry, options)
    write.old = request.view(await conversions.old(request.resource, request.served, entry))


async def mutate(write: Write) -> None:
    """Run mutating admission. A delete has no new object that plugins could change."""
    await write.engine.chain.mutate(write)


def plan(write: Write, options: DeleteOptions) -> None:
    """Decide about the grace period, finalizers and dependents. Sets the last state of the object,
    None for a removal without one, and whether the object goes.

    The last state shares members with the stored object, because only a kind's own deletion or
    transaction changes more than the metadata. To copy all members takes a tenth of a deletion.
    """
    resource, old = write.request.resource, write.old
    assert old is not None, "see `check`"
    if resource.definition.deletes_in_phases or resource.transactor is not None:
        state = write.copy_of_old()
    else:
        state = {**old, "metadata": {**old["metadata"]}}
    decided = deletion.plan(write, state, options)
    write.object, write.goes = decided.state, decided.goes


def store(write: Write) -> Awaitable[Outcome]:
    """Commit the last state, and remove the object if the plan says so."""
    return commits.delete(write)
