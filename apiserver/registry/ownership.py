"""Field ownership: keeps metadata.managedFields correct on every write.

A thin layer between writes and the pure functions of `schemas.ownership`. `own` is the stage that
records owners; an apply and a change of a Scale record them together with the fields.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

from inkube.apiserver.registry.resource import Resource
from inkube.apiserver.registry.write import Write
from inkube.schemas import empties
from inkube.schemas.meta import GVK
from inkube.schemas.objects import Empty, Object
from inkube.schemas.ownership import FieldSet, TypedSchema, Versions, managedfields


async def own(write: Write) -> None:
    """Record the owner of each field (handlers/fieldmanager), now or later.

    A create lists this stage twice: before admission, as upstream, and after validation. The record
    waits for the second time if it is the same then (`_may_wait`). A refused object does not need
    it, which saves a sixth of the time of such a request.
    """
    if write.owners == "recorded":
        return
    if write.owners == "unrecorded" and _may_wait(write):
        write.owners = "waiting"
        return
    await record(write)


async def record(write: Write) -> None:
    """Record the owner of each field in managedFields. Nothing else of the object changes."""
    new = write.new
    write.owners = "recorded"
    restored = empties.show(new, _compared(write)) if write.empties else []
    try:
        await _track(write)
    finally:
        empties.hide(new, restored)


async def _track(write: Write) -> None:
    new, served = write.new, write.request.served
    if (new["apiVersion"], new["kind"]) != (served.api_version, served.kind):
        known = versions(write.request.resource).schemas
        if new["kind"] != served.kind or new["apiVersion"] not in known:
            new["metadata"].pop("managedFields", None)  # that type has no schema (UpdateNoErrors)
            return
    if write.old is None and managedfields.is_first(new):
        await write.run(managedfields.track_first, new, served.typed, writer(write))
        return
    steps = managedfields.track(
        write.old,
        new,
        typed=served.typed,
        writer=writer(write),
        versions=versions(write.request.resource),
        may_not_fit=may_not_fit(write.request.resource, write.old),
    )
    await write.finish(steps)


def _compared(write: Write) -> Iterator[Empty]:
    """Yield the empty lists and maps of the body that make a difference for owners: those that Go
    encodes, although a stored object has null there, and those inside lists that are compared as a
    whole."""
    typed = write.request.served.typed
    for each in write.empties:
        [*path, member] = each.path
        if typed.is_in_whole_list(path):
            yield each
            continue
        holder: Any = write.new
        with contextlib.suppress(KeyError, IndexError):  # admission may have removed the parent
            for key in path:
                holder = holder[key]
            if member in holder:
                yield each


def _may_wait(write: Write) -> bool:
    """Return whether the ownership of a new object can be recorded after its validation: the result
    is the same, and no mutator changes the object or reads its managedFields.

    Returns False for an object with managedFields, because errors in them are reported before other
    errors, and for one with a status: if it has a wrong type, the object has no owners, although
    the strategy then drops it.
    """
    return (
        write.old is None
        and write.request.resource.definition.defers_ownership
        and "managedFields" not in write.new["metadata"]
        and "status" not in write.new
        and write.engine.chain.only_refuses(write)
    )


def writer(write: Write, *, kind: GVK | None = None) -> managedfields.Writer:
    """Return the manager of this write. `kind` is set if it writes another kind (a Scale)."""
    request, now = write.request, write.engine.system_fields.timestamp()
    served, subresource = request.served, request.subresource
    ignored = request.resource.strategy.reset_fields(served, subresource)
    gvk = kind or served.gvk
    return managedfields.Writer(
        request.manager, gvk.api_version, subresource, now, ignored, gvk.kind
    )


class _LazySchemas(dict[str, TypedSchema]):
    """The typed views of a kind by apiVersion, each compiled when an entry first needs it."""

    def __init__(self, resource: Resource) -> None:
        super().__init__()
        declared = (*resource.versions.values(), *resource.also)
        self.declared = {served.api_version: served for served in declared}

    def __missing__(self, api_version: str) -> TypedSchema:
        view = self[api_version] = self.declared[api_version].typed
        return view

    def __contains__(self, api_version: object) -> bool:
        return api_version in self.declared

    def get(self, api_version: str, default: Any = None) -> Any:
        """Return the typed view for a declared version, or `default` for other versions."""
        return self[api_version] if api_version in self.declared else default


def versions(resource: Resource) -> Versions:
    """Return the schemas for entries of other versions. Versions that are declared but not served
    are among them, as in crConverter.validVersions of apiextensions-apiserver."""
    return resource.once(versions, lambda: _versions(resource))


def _versions(resource: Resource) -> Versions:
    schemas = _LazySchemas(resource)

    def resets(api_version: str, subresource: str) -> FieldSet:
        served = schemas.declared[api_version]
        return resource.strategy.resets_elsewhere(served, subresource)

    return Versions(schemas, resource.reshape, resets)


def may_not_fit(resource: Resource, stored: Object | None) -> bool:
    """Return whether a stored object may not fit the schema of a request: it is older than the
    schema, or the versions of its custom resource have different types."""
    if not stored:
        return False
    if resource.once(may_not_fit, lambda: _has_different_types(resource)):
        return True
    version = stored["metadata"].get("resourceVersion") if resource.since else None
    return int(version) <= resource.since if version else False


def _has_different_types(resource: Resource) -> bool:
    first, *others = (
        served.version.schema for served in (*resource.versions.values(), *resource.also)
    )
    return any(schema != first for schema in others)
