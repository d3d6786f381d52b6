"""An update: the stages from the stored object to the commit of the new one, in upstream's order.

PUT, patches and apply differ in the first stage only, which calls `Change.make`. Follows
handlers/{update,patch}.go and `Store.Update` of generic/registry/store.go.
"""

from collections.abc import Awaitable

from inkube.apiserver.registry import commits, conversions, preparation
from inkube.apiserver.registry.create import create
from inkube.apiserver.registry.ownership import own
from inkube.apiserver.registry.stages import admit, mutate, prepared, reserve
from inkube.apiserver.registry.write import Change, Outcome, Write
from inkube.schemas import status
from inkube.schemas.ownership import managedfields


async def update(write: Write, change: Change) -> Outcome:
    """Replace the stored object, or create it if it is not stored. Raises StatusError, and errors
    of storage if another write changed the object meanwhile."""
    await transform(write, change)
    if write.entry is None:
        return await create(write)
    await own(write)
    await mutate(write)
    await prepare(write)
    await admit(write)
    reserve(write)
    return await store(write)


async def transform(write: Write, change: Change) -> None:
    """Make the new object from the old one in the request's version, or from None if no object is
    stored. Raises StatusError 404 if no object is stored and the change may not create it."""
    request, entry = write.request, write.entry
    if entry is not None:
        old = await conversions.old(request.resource, request.served, entry)
        write.old = request.view(old)
        write.size = max(write.size, len(old.data))
    elif not change.creates:
        raise status.not_found(request.resource.group, request.resource.plural, request.name)
    write.object = await change.make(write)
    preparation.metadata(write.object)
    if entry is None:
        preparation.begin_new(write)


def prepare(write: Write) -> Awaitable[None]:
    """Check the resourceVersion and set the system fields. The kind's strategy then prepares and
    validates the change."""
    return prepared(write, preparation.before_update)


def store(write: Write) -> Awaitable[Outcome]:
    """Commit the object in its storage version, with the writes of `reserve`. An unchanged object
    is not written."""
    assert write.old is not None, "what creates was stored by `create`"
    managedfields.keep_times(write.old, write.new)
    return commits.carried_out(write, commits.update)
