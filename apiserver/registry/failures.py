"""Errors of the storage as the Status that clients receive: the only place that translates them.

`app` answers requests with `as_status`, and the client in the process raises it. The engine raises
`lost` for a write that cannot start again after a lost race.
"""

from inkube.apiserver.registry.requests import Request
from inkube.apiserver.registry.write import Write
from inkube.schemas import status
from inkube.storage import StorageError, errors


def as_status(error: StorageError) -> status.StatusError:
    """Return 405 for a write to the past, 500 for damaged bytes, and 503 for a store that cannot be
    used now."""
    match error:
        case errors.ReadOnly():
            return status.read_only(str(error))
        case errors.Damaged():
            return status.internal(str(error))
        case errors.RevisionNamed():
            return status.unknown(str(error))
        case _:
            return status.storage_failed(str(error))


def refusal(
    error: errors.PreconditionError, group: str, plural: str, name: str
) -> status.StatusError:
    """Return 404 or 409 for a write that does not match the stored state of an object."""
    match error:
        case errors.NotFound():
            return status.not_found(group, plural, name)
        case errors.AlreadyExists():
            terminating = "deletionTimestamp" in error.current.value["metadata"]
            return status.already_exists(group, plural, name, terminating=terminating)
        case _:
            return status.conflict(group, plural, name)


def lost(write: Write, error: Exception) -> status.StatusError:
    """Return 409 for a write that another write was faster than."""
    resource = write.request.resource
    if isinstance(error, errors.AlreadyExists) and error.key == write.key:
        taken = refusal(error, resource.group, resource.plural, write.name)
        named = write.operation == "CREATE" and write.new["metadata"].get("generateName")
        return status.not_unique(taken) if named else taken
    return stale(write.request)


def stale(request: Request) -> status.StatusError:
    """Return the error for a write based on an older state: the kind's own error
    (`Definition.stale`) or 409."""
    resource = request.resource
    if resource.definition.stale is not None:
        return resource.definition.stale(request.name)
    return status.conflict(resource.group, resource.plural, request.name)
