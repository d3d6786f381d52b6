"""An update: the stages from the stored object to the commit of another, in upstream's order.

PUT, patches and apply differ in the first stage only: each gives an `Update` (`changes`,
`scaling`). Follows handlers/{update,patch}.go and `Store.Update` of generic/registry/store.go.
Attempts that lose a race are repeated by `registry`.
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
    """How an update makes the new object from the old one (None: there is none).

    `retry` says whether a lost race may be tried again with the newer object.
    """

    transform: Callable[[Object | None], Object | Coroutine[Any, Any, Object]]
    retry: bool = False
    create: bool = False
    """Whether the new object may be created when there is none (apply, PUT of some kinds)."""
    tracks: bool = True
    """Whether ownership is tracked here; apply has done so itself."""
    repeatable: bool = False
    """Whether it may be given a state that is not stored yet, and again another where that one
    never came: `transform` does nothing else, and makes nothing of the old resourceVersion."""
    shares: bool = False
    """Whether `transform` changes nothing of the old object: it is given the stored one, and may
    make parts of it parts of the new one, which are then known to be the same."""
    is_patch: bool = False
    """Whether repeated owner references are dropped after mutating admission only."""


async def update(parts: Parts, write: WriteRequest, change: Update) -> Outcome:
    """Replace what is stored, or create what is not. Raises StatusError, and storage's errors
    where others wrote meanwhile."""
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
    """Make the new object: of the old one, as the version of the request shows it, if there is
    one. Raises StatusError 404 where there is none and it may not be created."""
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
    made = await parts.worker.run(call.effort, change.transform, given)
    if not isinstance(made, dict):
        waits = call.resource.converter is not None
        made = await parts.worker.finish(call.effort, made, waits=waits)
    write.object = made
    preparation.metadata(made)
    if entry is None:
        preparation.begin_new(write)


def prepare(parts: Parts, write: WriteRequest) -> Awaitable[None]:
    """Check the version, settle the system's fields, let the kind's strategy prepare and validate
    the change."""
    return prepared(parts, write, preparation.before_update)


def store(parts: Parts, write: WriteRequest) -> Awaitable[Outcome]:
    """Commit the object in its stored version, with what stands beside it; nothing where nothing
    changed."""
    assert write.old is not None, "what creates was stored by `create`"
    assert write.object is not None, "see `transform`"
    managedfields.keep_times(write.old, write.object)
    return commits.carried_out(parts, write, commits.update)
