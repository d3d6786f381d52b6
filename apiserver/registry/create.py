"""A create: the stages from a decoded object to the commit, in upstream's order.

Follows handlers/create.go and `Store.Create` of generic/registry/store.go. An update that creates
an object (apply, PUT of some kinds) calls `create` with the object that it made.
"""

from collections.abc import Awaitable

from inkube.apiserver.registry import commits, preparation
from inkube.apiserver.registry.commits import Outcome
from inkube.apiserver.registry.requests import Parts, WriteRequest
from inkube.apiserver.registry.stages import admit, mutate, own, prepared, reserve
from inkube.schemas import status


async def create(parts: Parts, write: WriteRequest) -> Outcome:
    """Store a new object. Sets its name, namespace, uid and times. Raises StatusError."""
    begin(parts, write)
    await own(parts, write)
    await mutate(parts, write)
    await prepare(parts, write)
    await admit(parts, write)
    reserve(parts, write)
    return await store(parts, write)


def begin(parts: Parts, write: WriteRequest) -> None:
    """Give the object a computed or generated name if it has no name, and check that the kind
    accepts new objects. Raises StatusError 403 while the kind's definition is terminating."""
    call, obj = write.call, write.object
    assert obj is not None, "a create has an object"
    preparation.metadata(obj)
    preparation.give_name(call, obj, parts.system_fields)
    if call.resource.definition.terminating:
        why = "create not allowed while custom resource definition is terminating"
        raise status.forbidden(call.resource.group, call.resource.plural, call.name, why)


def prepare(parts: Parts, write: WriteRequest) -> Awaitable[None]:
    """Set the system fields. The kind's strategy then prepares and validates the object."""
    return prepared(parts, write, preparation.before_create)


def store(parts: Parts, write: WriteRequest) -> Awaitable[Outcome]:
    """Commit the object in its storage version, with the writes of `reserve`."""
    return commits.carried_out(parts, write, commits.create)
