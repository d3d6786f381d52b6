"""Stages that creates and updates have in common; see `create` and `update` for their order."""

from collections.abc import Callable
from functools import partial

from inkube.apiserver.registry import ownerreferences, ownership
from inkube.apiserver.registry.requests import Parts, WriteRequest
from inkube.apiserver.registry.systemfields import SystemFields
from inkube.schemas.ownership import managedfields
from inkube.schemas.status import StatusError


async def own(parts: Parts, write: WriteRequest) -> None:
    """Remove repeated owner references, and record the owner of each field
    (handlers/fieldmanager).

    The record waits until after validation if it is the same then (`ownership.may_wait`). A
    refused object does not need it, which saves a sixth of the time of such a request.
    """
    obj = write.object
    assert obj is not None, "only creates and updates come here"
    if obj["metadata"].get("ownerReferences") and not write.is_patch:
        await _deduplicate(parts, write)
    if not write.is_owned and not ownership.may_wait(write, parts.chain):
        await _record_owners(parts, write, parts.system_fields.timestamp())


async def mutate(parts: Parts, write: WriteRequest) -> None:
    """Run mutating admission, and restore entries of managedFields that it made invalid."""
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
    parts: Parts, write: WriteRequest, prepare: Callable[[WriteRequest, SystemFields], None]
) -> None:
    """Run `prepare`, which prepares and validates the object. If the kind's own rules refuse it,
    plugins can add further errors to the refusal. Raises StatusError."""
    try:
        await parts.worker.compute(write.call, prepare, write, parts.system_fields)
    except StatusError as refusal:
        if refusal.field_errors:
            await parts.chain.supplement(write, refusal)
        raise


async def admit(parts: Parts, write: WriteRequest) -> None:
    """Record the owners of fields if `own` did not, then run validating admission."""
    if not write.is_owned and write.object is not None:  # a new object: `own` waited
        await _record_owners(parts, write, write.object["metadata"]["creationTimestamp"])
    await parts.chain.validate(write)


def reserve(parts: Parts, write: WriteRequest) -> None:
    """Collect the writes next to the object from the plugins: charges of quotas, committed with
    the object, and effects, written elsewhere before it."""
    write.effects = parts.chain.reserve(write)


async def _deduplicate(parts: Parts, write: WriteRequest, *, admitted: bool = False) -> None:
    """Remove repeated owner references, with a warning. `admitted` means that mutating admission
    has run."""
    assert write.object is not None, "see `own`"
    meta = write.object["metadata"]
    drop = partial(ownerreferences.deduplicate, write.call, meta, is_admitted=admitted)
    await parts.worker.compute(write.call, drop)


async def _record_owners(parts: Parts, write: WriteRequest, time: str) -> None:
    """Record the owner of each field in managedFields. Nothing else of the object changes."""
    call, obj = write.call, write.object
    assert obj is not None, "only creates and updates come here"
    write.is_owned = True
    if write.old is None and await parts.worker.compute(
        call, ownership.track_first, call, obj, time
    ):
        return
    steps = ownership.track(call, write.old, obj, time)
    await parts.worker.finish(call, steps, waits=call.resource.converter is not None)
