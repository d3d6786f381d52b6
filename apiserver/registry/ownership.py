"""Field ownership: keeps metadata.managedFields correct on every write.

A thin layer between calls and the pure functions of `schemas.ownership.managedfields`. An apply
makes its own entries.
"""

from typing import Any

from inkube.apiserver.registry import conversions
from inkube.apiserver.registry.admission import Chain
from inkube.apiserver.registry.calls import Call
from inkube.apiserver.registry.preparation import NOT_AT_FIRST
from inkube.apiserver.registry.requests import WriteRequest
from inkube.apiserver.registry.resources import Resource
from inkube.schemas.objects import Object
from inkube.schemas.ownership import TypedSchema, Versions, managedfields


class _LazySchemas(dict[str, TypedSchema]):
    """The typed views of a kind by apiVersion, each compiled when an entry first needs it."""

    def __init__(self, resource: Resource) -> None:
        super().__init__()
        self._served = {
            served.api_version: served
            for served in resource.versions.values()
            if served.version.served
        }

    def __missing__(self, api_version: str) -> TypedSchema:
        view = self[api_version] = self._served[api_version].typed
        return view

    def __contains__(self, api_version: object) -> bool:
        return api_version in self._served

    def get(self, api_version: str, default: Any = None) -> Any:
        """Return the typed view for a served version, or `default` for other versions."""
        return self[api_version] if api_version in self._served else default


def versions(resource: Resource) -> Versions:
    """Return the schemas for entries of other versions. Entries of versions that are not served
    are removed."""
    return resource.once(versions, lambda: Versions(_LazySchemas(resource)))


def writer(call: Call, time: str, *, api_version: str = "") -> managedfields.Writer:
    """Return the manager of this call. `api_version` is set if it writes another kind (a Scale).

    `time` is the current time in the format of metadata.
    """
    served, subresource = call.served, call.subresource
    ignored = call.resource.strategy.reset_fields(served, subresource)
    written, kind = (api_version, "Scale") if api_version else (served.api_version, served.kind)
    return managedfields.Writer(call.manager, written, subresource, time, ignored, kind)


_NEVER_FIRST = frozenset({"managedFields", *NOT_AT_FIRST})


def may_wait(write: WriteRequest, chain: Chain) -> bool:
    """Return whether the ownership of a new object can be recorded after its validation: the result
    is the same, and no mutator changes the object or reads its managedFields.

    Returns False for an object with managedFields, because errors in them are reported before other
    errors. Returns False for members of NOT_AT_FIRST, because preparation removes them, although
    their sender owns them.
    """
    obj = write.object
    return (
        write.old is None
        and obj is not None
        and write.call.resource.definition.defers_ownership
        and _NEVER_FIRST.isdisjoint(obj["metadata"])
        and chain.only_refuses(write)
    )


def track_first(call: Call, new: Object, time: str) -> bool:
    """Record the owner of all fields of a new object without managedFields, without other versions.

    The result equals that of `track`. Returns False, and changes nothing, for other objects.
    """
    if not managedfields.is_first(new):
        return False
    managedfields.track_first(new, call.served.typed, writer(call, time))
    return True


async def track(call: Call, live: Object | None, new: Object, time: str) -> None:
    """Record in `new` the fields that an ordinary write changed, compared with `live`."""
    steps = managedfields.track(
        live,
        new,
        typed=call.served.typed,
        writer=writer(call, time),
        versions=versions(call.resource),
    )
    await conversions.finish(call.resource, steps)
