"""A create: the stages from a decoded object to the commit, in upstream's order.

Follows handlers/create.go and `Store.Create` of generic/registry/store.go. An update that creates
(apply, PUT of some kinds) comes here with what it has made.
"""

from collections.abc import Awaitable

from inkube.apiserver.registry import commits, preparation
from inkube.apiserver.registry.commits import Outcome
from inkube.apiserver.registry.requests import Parts, WriteRequest
from inkube.apiserver.registry.stages import admit, mutate, own, prepared, reserve
from inkube.schemas import status


async def create(parts: Parts, write: WriteRequest) -> Outcome:
    """Store a new object; fills in name, namespace, uid and times. Raises StatusError."""
    begin(parts, write)
    await own(parts, write)
    await mutate(parts, write)
    await prepare(parts, write)
    await admit(parts, write)
    reserve(parts, write)
    return await store(parts, write)


def begin(parts: Parts, write: WriteRequest) -> None:
    """See that the kind takes new objects; give the object a name that follows from it, or a
    generated one."""
    call, obj = write.call, write.object
    assert obj is not None, "a create has an object"
    preparation.metadata(obj)
    preparation.give_name(call, obj, parts.stamps)
    if call.resource.definition.terminating:
        why = "create not allowed while custom resource definition is terminating"
        raise status.forbidden(call.resource.group, call.resource.plural, call.name, why)


def prepare(parts: Parts, write: WriteRequest) -> Awaitable[None]:
    """Settle the system's fields, let the kind's strategy prepare and validate the object."""
    return prepared(parts, write, preparation.before_create)


def store(parts: Parts, write: WriteRequest) -> Awaitable[Outcome]:
    """Commit the object in its stored version, with what stands beside it."""
    return commits.carried_out(parts, write, commits.create)
