"""The kinds of change: create, PUT, delete, eviction. `patches`, `apply` and `scaling` contain the
others.

    Change ── Create
           ├─ Put ── PutStatus
           ├─ JsonPatch, MergePatch, StrategicPatch     (patches)
           ├─ Apply                                     (apply)
           ├─ Scale                                     (scaling)
           ├─ Delete ── Evict
           └─ Amend

HTTP and the client in the process use the same classes.
"""

from collections.abc import Callable

import orjson

from inkube.apiserver.registry import ownerreferences, preparation
from inkube.apiserver.registry.create import create
from inkube.apiserver.registry.delete import delete, evict
from inkube.apiserver.registry.requests import Body, DeleteOptions, Request
from inkube.apiserver.registry.update import update
from inkube.apiserver.registry.write import Change, Outcome, Write
from inkube.schemas import status
from inkube.schemas.objects import Object
from inkube.schemas.strategy import ReservationLost
from inkube.storage import Entry, errors, writes


class Create(Change):
    """Store a new object. Only a kind with shared resources starts again, if another process took
    the same address or port."""

    __slots__ = ("_body", "_fresh", "sealed")
    reads = False

    def __init__(self, request: Request, body: Body) -> None:
        self._body, self.sealed = body, body.sealed
        allocates = request.resource.definition.allocates
        self._fresh = orjson.dumps(body.object) if allocates else b""

    def restarts(self, error: Exception) -> bool:
        return isinstance(error, ReservationLost)

    async def carry_out(self, write: Write) -> Outcome:
        write.size, write.empties = self._body.size, self._body.empties
        write.object = await self.make(write)
        preparation.wipe(write.object)
        return await create(write)

    def compute(self, write: Write) -> Object:
        made: Object = orjson.loads(self._fresh) if self._fresh else self._body.object
        ownerreferences.deduplicate(write, made)
        return made


class Update(Change):
    """Base of the changes of a stored object. A change that names the version of the object does
    not start again after a conflict."""

    __slots__ = ("_names_version", "_size", "repeatable")

    def __init__(self, size: int, *, names_version: bool, reads_version: bool = False) -> None:
        self._size = size
        self._names_version = names_version
        self.repeatable = not (names_version or reads_version)

    def restarts(self, error: Exception) -> bool:
        return not (self._names_version and isinstance(error, errors.Conflict))

    async def carry_out(self, write: Write) -> Outcome:
        write.operation = "CREATE" if write.entry is None else "UPDATE"
        write.size = self._size
        return await update(write, self)


class Put(Update):
    """Replace the object with a body."""

    __slots__ = ("_empties", "_fresh", "creates", "sealed")

    def __init__(self, request: Request, body: Body) -> None:
        obj = body.object
        ownerreferences.deduplicate(request, obj)
        super().__init__(body.size, names_version=bool(obj["metadata"].get("resourceVersion")))
        definition = request.resource.definition
        relaxed = definition.relaxed_subresources or not request.subresource
        self.creates = definition.create_on_update and relaxed
        self._empties, self.sealed = body.empties, body.sealed
        self._fresh = orjson.dumps(self._replaced(obj))

    def compute(self, write: Write) -> Object:
        write.empties = self._empties
        return self._replacing(orjson.loads(self._fresh), write)

    def _replaced(self, obj: Object) -> Object:
        """Return the members of a body that replace those of the stored object."""
        return obj

    def _replacing(self, fresh: Object, write: Write) -> Object:
        return fresh


class PutStatus(Put):
    """Replace metadata and status with those of a body. The rest of the stored object stays."""

    __slots__ = ()

    def _replaced(self, obj: Object) -> Object:
        return {name: obj[name] for name in ("metadata", "status") if name in obj}

    def _replacing(self, fresh: Object, write: Write) -> Object:
        assert write.old is not None, "a status is never created"
        kept = {name: value for name, value in write.old.items() if name != "status"}
        return {**kept, **fresh}


class Delete(Change):
    """Delete the object, or set its deletionTimestamp while finalizers keep it."""

    __slots__ = ("options",)

    def __init__(self, options: DeleteOptions) -> None:
        self.options: DeleteOptions = options

    async def carry_out(self, write: Write) -> Outcome:
        write.operation = "DELETE"
        return await delete(write, self.options)


class Evict(Delete):
    """Delete a pod whose eviction admission has accepted."""

    __slots__ = ()

    async def carry_out(self, write: Write) -> Outcome:
        write.operation = "DELETE"
        return await evict(write, self.options)


class Amend(Change):
    """Change a stored object without admission, rules and ownership, as the storage of a binding
    and an eviction does upstream. `amended` returns the new object, or None to change nothing."""

    __slots__ = ("_amended",)

    def __init__(self, amended: Callable[[Entry], Object | None]) -> None:
        self._amended = amended

    async def carry_out(self, write: Write) -> Outcome:
        request, entry = write.request, write.entry
        if entry is None:
            raise status.not_found(request.resource.group, request.resource.plural, request.name)
        made = self._amended(entry)
        if made is None:
            return Outcome(entry, changed=False)
        made["metadata"].pop("resourceVersion", None)
        [stored] = await write.commit([writes.Update(entry.key, made, entry.revision)])
        return Outcome(stored)
