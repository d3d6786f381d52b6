"""Objects in other versions: the only place where a request waits for a conversion.

The versions of most kinds differ only in their name, or `Served` converts them directly. Their only
cost is one access to `Resource.converter`. For a kind with a converter, this module fetches the
versions that a request needs, in batches, before other code reads them.
"""

import math
import time
from collections.abc import Sequence
from typing import TypeVar

import orjson

from inkube.apiserver.registry.resource import Converter, Resource
from inkube.schemas import status
from inkube.schemas.golang import gotext
from inkube.schemas.objects import Object
from inkube.schemas.ownership import Steps
from inkube.schemas.served import Served
from inkube.storage import Change, Entry, TransientEntry

T = TypeVar("T")


async def shown(
    resource: Resource, served: Served, entries: Sequence[Entry], *, anew: bool = True
) -> Sequence[Entry]:
    """Return the entries that `Resource.view` accepts for that version. Raises StatusError 500.

    With a converter they contain the objects in that version, else they are the given entries.
    With `anew`, several entries are converted together, as the reference does with lists, and
    recent results are ignored.
    """
    converter = resource.converter
    if converter is None or not entries:
        return entries
    anew = anew and len(entries) > 1
    objects = [resource.renewed(entry) for entry in entries]
    if resource.is_view or any(obj["apiVersion"] != served.api_version for obj in objects):
        objects = await converter.convert(objects, served.api_version, anew)
        for obj in objects:
            served.prune(obj)
    return [
        entry if obj is entry.value else _entry(entry, obj)
        for entry, obj in zip(entries, objects, strict=True)
    ]


async def old(resource: Resource, served: Served, entry: Entry) -> Entry:
    """Return the entry that a write changes, as `shown`. Raises StatusError 500, also if it is
    stored in another version and cannot be converted to the storage version: the reference encodes
    the object of its cache before each change (etcd3/store.go, getStateFromObject)."""
    [found] = await shown(resource, served, [entry])
    converter, api_version = resource.converter, resource.storage.api_version
    if converter is not None and entry.value["apiVersion"] != api_version:
        await converter.convert([resource.view(found, served)], api_version)
    return found


def not_ready(
    resource: Resource, served: Served, entries: Sequence[Entry], error: status.StatusError
) -> status.StatusError:
    """Return the error of a list or watch whose entries could not be converted.

    The reference reads both from a cache for each version. The cache begins with all objects that
    are older than the definition. Until these can be converted, it returns 429
    (storage/cacher/cacher.go, util.go); later objects leave the error as it is.
    """
    if resource.converter is None or all(entry.revision > resource.since for entry in entries):
        return error
    age = time.monotonic() - resource.installed
    seconds = min(30, int(math.exp(0.06 * min(age, 60))))
    kind = f"{served.api_version}, Kind={served.kind}"
    text = f"storage is (re)initializing: failed to list {kind}: {error.message}"
    return status.too_many_requests(text, seconds)


def _entry(entry: Entry, obj: Object) -> Entry:
    return TransientEntry(entry, orjson.dumps(obj), obj)


async def shown_changes(
    resource: Resource, served: Served, changes: Sequence[Change]
) -> Sequence[Change]:
    """Return the changes for watches in that version. Many watchers share the converted objects."""
    if resource.converter is None:
        return changes
    states = [(change.entry, change.previous) for change in changes]
    entries = [entry for state in states for entry in state if entry is not None]
    made = iter(await shown(resource, served, entries, anew=False))
    return [
        Change(change.type, next(made), None if change.previous is None else next(made))
        for change in changes
    ]


async def in_version(resource: Resource, obj: Object, served: Served) -> Object:
    """Return the object in another version, pruned by that version. Raises StatusError 500."""
    if resource.converter is None:
        return served.converted(obj)
    [made] = await resource.converter.convert([obj], served.api_version)
    served.prune(made)
    return made


async def admitted(resource: Resource, obj: Object, served: Served) -> Object:
    """Return an object that a webhook changed in the version of the request. A custom resource may
    come in any version. Raises DecodeError and StatusError 500."""
    found = served.admitted_gvk(obj)
    if found.api_version == served.api_version:
        return obj
    if found.group != resource.group:
        raise status.unknown(
            f"{found.group}/{found.version}, Kind={found.kind} is unstructured and is not suitable "
            f"for converting to {gotext.quote(served.api_version)}"
        )
    if found.version not in resource.versions:
        raise status.unknown(
            f"request to convert CR from an invalid group/version: {found.api_version}"
        )
    return await in_version(resource, obj, served)


async def to_storage(resource: Resource, obj: Object) -> Object:
    """Convert an object from the version of the request to the storage version, whose schema
    prunes and defaults it. Raises StatusError 500."""
    storage = resource.storage
    if resource.converter is None or obj.get("apiVersion") == storage.api_version:
        return to_storage_at_once(resource, obj)
    [stored] = await resource.converter.convert([obj], storage.api_version)
    storage.fit(stored)
    return stored


def to_storage_at_once(resource: Resource, obj: Object) -> Object:
    """Convert an object to the storage version, like `to_storage`, for a kind without a converter
    or an object that is already in that version."""
    storage = resource.storage
    if obj.get("apiVersion") == storage.api_version:
        storage.complete(obj)
        return obj
    stored = storage.converted(obj)
    storage.fit(stored)
    return stored


async def finish(converter: Converter, steps: Steps[T]) -> T:
    """Run work that yields each object that it needs in another manager's version. Returns its
    result."""
    try:
        wanted = next(steps)
        while True:
            [made] = await converter.convert([wanted.object], wanted.api_version)
            wanted = steps.send(made)
    except StopIteration as done:
        outcome: T = done.value
        return outcome
