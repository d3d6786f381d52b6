"""Stages that creates and updates have in common; see `create` and `update` for their order."""

from collections.abc import Callable
from functools import partial

from inkube.apiserver.registry import ownerreferences, ownership
from inkube.apiserver.registry.requests import Parts, WriteRequest
from inkube.apiserver.registry.stamps import Stamps
from inkube.schemas.ownership import managedfields
from inkube.schemas.status import StatusError


async def own(parts: Parts, write: WriteRequest) -> None:
    """Leave one reference to each owner of the object, and record who set what
    (handlers/fieldmanager), or put the second off until the object is validated.

    Put off, it is not done of what validation refuses, which takes a sixth of such a request; for
    objects only of which it is the same then.
    """
    obj = write.object
    assert obj is not None, "only creates and updates come here"
    if obj["metadata"].get("ownerReferences") and not write.is_patch:
        await _deduplicate(parts, write)
    if not write.is_owned and not ownership.may_wait(write, parts.chain):
        await _record_owners(parts, write, parts.stamps.timestamp())


async def mutate(parts: Parts, write: WriteRequest) -> None:
    """Mutating admission; entries of managedFields that it breaks are put back."""
    obj = write.object
    assert obj is not None, "only creates and updates come here"
    sent = obj["metadata"].get("managedFields")
    await parts.chain.mutate(write)
    meta = obj["metadata"]
    if meta.get("managedFields"):
        warning = managedfields.admitted(sent, obj)
        if warning:
            write.call.warn(warning)
    if meta.get("ownerReferences"):
        await _deduplicate(parts, write, admitted=True)


async def prepared(
    parts: Parts, write: WriteRequest, prepare: Callable[[WriteRequest, Stamps], None]
) -> None:
    """Run what prepares and validates the object. Where the kind's own rules refuse it, plugins may
    tell what else is wrong."""
    try:
        await parts.worker.run(write.call.effort, prepare, write, parts.stamps)
    except StatusError as refusal:
        if refusal.field_errors:
            await parts.chain.supplement(write, refusal)
        raise


async def admit(parts: Parts, write: WriteRequest) -> None:
    """Validating admission, which is shown who owns what."""
    if not write.is_owned and write.object is not None:  # it is new, and was put off
        await _record_owners(parts, write, write.object["metadata"]["creationTimestamp"])
    await parts.chain.validate(write)


def reserve(parts: Parts, write: WriteRequest) -> None:
    """Ask what has to stand beside the object: charges, committed with it, and what is written
    elsewhere before."""
    write.effects = parts.chain.reserve(write)


async def _deduplicate(parts: Parts, write: WriteRequest, *, admitted: bool = False) -> None:
    """Leave one reference to each owner, with a warning; `admitted` says whose they are."""
    assert write.object is not None, "see `own`"
    meta = write.object["metadata"]
    drop = partial(ownerreferences.deduplicate, write.call, meta, admitted=admitted)
    await parts.worker.run(write.call.effort, drop)


async def _record_owners(parts: Parts, write: WriteRequest, time: str) -> None:
    """Ownership changes nothing else of the object."""
    call, obj = write.call, write.object
    assert obj is not None, "only creates and updates come here"
    write.is_owned = True
    if write.old is None and await parts.worker.run(
        call.effort, ownership.track_first, call, obj, time
    ):
        return
    steps = ownership.track(call, write.old, obj, time)
    await parts.worker.finish(call.effort, steps, waits=call.resource.converter is not None)
