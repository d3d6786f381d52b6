"""A create: the stages from a decoded object to the commit, in upstream's order.

Follows handlers/create.go and `Store.Create` of generic/registry/store.go. An update that creates
an object (apply, PUT of some kinds) calls `create` with the object that it made.
"""

from collections.abc import Awaitable

from inkube.apiserver.registry import commits, preparation
from inkube.apiserver.registry.ownership import own
from inkube.apiserver.registry.stages import admit, mutate, prepared, reserve
from inkube.apiserver.registry.write import Outcome, Write
from inkube.schemas import status


async def create(write: Write) -> Outcome:
    """Store a new object. Sets its name, namespace, uid and times. Raises StatusError, and errors
    of storage if the name is taken."""
    begin(write)
    await own(write)
    await mutate(write)
    await prepare(write)
    await own(write)
    await admit(write)
    reserve(write)
    return await store(write)


def begin(write: Write) -> None:
    """Give the object a computed or generated name if it has no name, and check that the kind
    accepts new objects. Raises StatusError 403 while the kind's definition is terminating."""
    preparation.metadata(write.new)
    preparation.give_name(write)
    resource = write.request.resource
    if resource.definition.terminating:
        why = "create not allowed while custom resource definition is terminating"
        raise status.forbidden(resource.group, resource.plural, write.name, why)


def prepare(write: Write) -> Awaitable[None]:
    """Set the system fields. The kind's strategy then prepares and validates the object."""
    return prepared(write, preparation.before_create)


def store(write: Write) -> Awaitable[Outcome]:
    """Commit the object in its storage version, with the writes of `reserve`."""
    return commits.carried_out(write, commits.create)
