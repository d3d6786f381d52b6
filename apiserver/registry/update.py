"""An update: the stages from the stored object to the commit of the new one, in upstream's order.

PUT, patches and apply differ in the first stage only: each is an `Update` (made by `changes` and
`scaling`). Follows handlers/{update,patch}.go and `Store.Update` of generic/registry/store.go.
`registry` repeats attempts that lose a race.
"""

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, NamedTuple

from inkube.apiserver.registry import commits, conversions, preparation
from inkube.apiserver.registry.commits import Outcome
from inkube.apiserver.registry.create import create
from inkube.apiserver.registry.requests import Parts, WriteRequest
from inkube.apiserver.registry.stages import admit, mutate, own, prepared, reserve
from inkube.schemas import status
from inkube.schemas.objects import Object
from inkube.schemas.ownership import managedfields


class Update(NamedTuple):
    """How an update makes the new object from the old one.

    `transform` receives None if no object is stored. `retry` allows another attempt with the newer
    object after a lost race.
    """

    transform: Callable[[Object | None], Object | Coroutine[Any, Any, Object]]
    retry: bool = False
    create: bool = False
    """Whether the update may create the object if it is not stored (apply, PUT of some kinds)."""
    tracks: bool = True
    """Whether the stage `own` records field ownership. An apply records it in `transform`."""
    repeatable: bool = False
    """Whether `transform` may receive an uncommitted state, and run again with another state if
    the first one is never stored. Requires that `transform` has no side effects and that its
    result does not depend on the old resourceVersion."""
    shares: bool = False
    """Whether `transform` never changes the old object. It then receives the stored object instead
    of a copy, and the new object may contain parts of it: comparisons skip shared parts."""
    is_patch: bool = False
    """Whether repeated owner references are removed only after mutating admission."""


async def update(parts: Parts, write: WriteRequest, change: Update) -> Outcome:
    """Replace the stored object, or create it if it is not stored. Raises StatusError, and errors
    of storage if another write changed the object meanwhile."""
    await transform(parts, write, change)
    if write.entry is None:
        return await create(parts, write)
    await own(parts, write)
    await mutate(parts, write)
    await prepare(parts, write)
    await admit(parts, write)
    reserve(parts, write)
    return await store(parts, write)


async def transform(parts: Parts, write: WriteRequest, change: Update) -> None:
    """Make the new object from the old one in the request's version, or from None if no object is
    stored. Raises StatusError 404 if no object is stored and the update may not create it."""
    call, entry = write.call, write.entry
    given = None
    write.is_owned, write.is_patch = not change.tracks, change.is_patch
    if entry is not None:
        if call.resource.converter is not None:
            [entry] = await conversions.shown(call.resource, call.served, [entry])
        write.old = call.view(entry)
        call.weight = max(call.weight, len(entry.data))
        given = write.old if change.shares else call.copy(entry)
    elif not change.create:
        raise status.not_found(call.resource.group, call.resource.plural, call.name)
    made = await parts.worker.compute(call, change.transform, given)
    if not isinstance(made, dict):
        waits = call.resource.converter is not None
        made = await parts.worker.finish(call, made, waits=waits)
    write.object = made
    preparation.metadata(made)
    if entry is None:
        preparation.begin_new(write)


def prepare(parts: Parts, write: WriteRequest) -> Awaitable[None]:
    """Check the resourceVersion and set the system fields. The kind's strategy then prepares and
    validates the change."""
    return prepared(parts, write, preparation.before_update)


def store(parts: Parts, write: WriteRequest) -> Awaitable[Outcome]:
    """Commit the object in its storage version, with the writes of `reserve`. An unchanged object
    is not written."""
    assert write.old is not None, "what creates was stored by `create`"
    assert write.object is not None, "see `transform`"
    managedfields.keep_times(write.old, write.object)
    return commits.carried_out(parts, write, commits.update)
