"""Stages that creates, updates and deletes have in common; see these modules for their order.

A stage is a function of a `Write`. It awaits what can take long: other servers, and computations
with large objects.
"""

from collections.abc import Callable
from functools import partial

from inkube.apiserver.registry import ownerreferences
from inkube.apiserver.registry.write import Write
from inkube.schemas.ownership import managedfields
from inkube.schemas.status import StatusError


async def mutate(write: Write) -> None:
    """Run mutating admission, and restore entries of managedFields that it made invalid."""
    obj = write.new
    sent = obj["metadata"].get("managedFields")
    await write.engine.chain.mutate(write)
    meta = obj["metadata"]
    if meta.get("managedFields"):
        warning = managedfields.admitted(sent, obj)
        if warning:
            write.warn(warning)
    if meta.get("ownerReferences"):
        await write.run(partial(ownerreferences.deduplicate, write, obj, is_admitted=True))


async def prepared(write: Write, prepare: Callable[[Write], None]) -> None:
    """Run `prepare`, which prepares and validates the object. If the kind's own rules refuse it,
    plugins can add further errors to the refusal. Raises StatusError."""
    try:
        await write.run(prepare, write)
    except StatusError as refusal:
        if refusal.field_errors:
            await write.engine.chain.supplement(write, refusal)
        raise


async def admit(write: Write) -> None:
    """Run validating admission."""
    await write.engine.chain.validate(write)


def reserve(write: Write) -> None:
    """Collect the writes next to the object from the plugins: charges of quotas, committed with
    the object, and effects, written elsewhere before it."""
    write.effects = write.engine.chain.reserve(write)
