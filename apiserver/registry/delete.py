"""A delete: the stages from the stored object to its end, or to a mark while something holds it.

Follows `Store.Delete` of generic/registry/store.go; what becomes of an object is decided in
`deletion`. Attempts that lose a race are repeated by `registry`.
"""

from collections.abc import Awaitable

from inkube.apiserver.registry import commits, conversions, deletion
from inkube.apiserver.registry.calls import DeleteOptions
from inkube.apiserver.registry.commits import Outcome
from inkube.apiserver.registry.requests import Parts, WriteRequest
from inkube.schemas import status
from inkube.storage import Entry


async def delete(parts: Parts, write: WriteRequest, options: DeleteOptions) -> Outcome:
    """Delete, or mark as being deleted while finalizers hold it. Raises StatusError, and storage's
    errors where others wrote meanwhile."""
    shown = await check(write, options)
    await mutate(parts, write)
    await admit(parts, write)
    decided = plan(parts, write, shown, options)
    return await store(parts, write, decided)


async def check(write: WriteRequest, options: DeleteOptions) -> Entry:
    """The object as the version of the request shows it. Raises StatusError 404, and 409 where it
    is not the one that is meant."""
    call, entry = write.call, write.entry
    if entry is None:
        raise status.not_found(call.resource.group, call.resource.plural, call.name)
    deletion.check_preconditions(call, entry, options)
    [shown] = await conversions.shown(call.resource, call.served, [entry])
    write.old = call.view(shown)
    return shown


async def mutate(parts: Parts, write: WriteRequest) -> None:
    """Mutating admission, which has nothing to change."""
    if not write.is_admitted:
        await parts.chain.mutate(write)


async def admit(parts: Parts, write: WriteRequest) -> None:
    """Validating admission."""
    if not write.is_admitted:
        await parts.chain.validate(write)


def plan(parts: Parts, write: WriteRequest, shown: Entry, options: DeleteOptions) -> deletion.Plan:
    """Decide about grace, finalizers and dependents."""
    return deletion.plan(write.call, write.call.copy(shown), options, parts.stamps)


def store(parts: Parts, write: WriteRequest, decided: deletion.Plan) -> Awaitable[Outcome]:
    """Commit the last state that was decided on, and the end of the object if it goes."""
    return commits.delete(parts, write, decided)
