"""The records and transactions of kinds declared in Python, over the server's store."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import orjson

from inkube.apiserver.registry import Pending, Resource, Resources, SystemFields
from inkube.controllers.environment import Environment
from inkube.controllers.records import Record
from inkube.controllers.transactions import Transaction, View, Write
from inkube.schemas import status
from inkube.schemas.meta import split_api_version
from inkube.schemas.objects import Object
from inkube.storage import Store, writes
from inkube.storage import errors as storage_errors

_OPERATIONS: Any = {"CREATE": "create", "UPDATE": "update", "DELETE": "delete"}


class StoredRecords:
    """Stores records of controllers (`controllers.records.Records`) as objects."""

    def __init__(self, store: Store, resources: Resources, system_fields: SystemFields) -> None:
        self._store = store
        self._resources = resources
        self._system_fields = system_fields

    async def commit(self, records: Sequence[Record]) -> list[Object]:
        """Commit all records or none; returns the stored objects. Raises StatusError 404 or 409."""
        if not records:
            return []
        try:
            entries = await self._store.commit([self.write(record) for record in records])
        except storage_errors.PreconditionError as error:
            raise self._refusal(error) from error
        return [orjson.loads(entry.data) for entry in entries]

    def write(self, record: Record) -> writes.Write:
        """Return the write that a record requests."""
        obj = record.object
        resource, meta = self._resource(obj), obj["metadata"]
        key = resource.key(meta.get("namespace", ""), meta["name"])
        if record.change == "create":
            meta.setdefault("uid", self._system_fields.uid())
            meta.setdefault("creationTimestamp", self._system_fields.timestamp())
            meta.setdefault("generation", 1)
            meta.pop("resourceVersion", None)
            return writes.Create(key, obj)
        expected = int(meta["resourceVersion"])
        if record.change == "delete":
            return writes.Delete(key, expected)
        metadata = {name: value for name, value in meta.items() if name != "resourceVersion"}
        return writes.Update(key, {**obj, "metadata": metadata}, expected)

    def _resource(self, obj: Object) -> Resource:
        group, _ = split_api_version(obj["apiVersion"])
        resource = self._resources.by_kind(group, obj["kind"])
        if resource is None:
            raise status.resource_not_found()
        return resource

    def _refusal(self, error: storage_errors.PreconditionError) -> status.StatusError:
        _, _, path = error.key.partition("/registry/")
        name = path.rpartition("/")[2]
        resource = path.partition("/")[0]
        if isinstance(error, storage_errors.NotFound):
            return status.not_found("", resource, name)
        if isinstance(error, storage_errors.AlreadyExists):
            return status.already_exists("", resource, name)
        return status.conflict("", resource, name)


def transactor(
    declared: Transaction,
    environment: Callable[[], Environment],
    records: StoredRecords,
    store: Store,
) -> Callable[[Pending], Any]:
    """Return a kind's transaction in the form that the registry enters."""

    @asynccontextmanager
    async def enter(pending: Pending) -> AsyncIterator[None]:
        write = Write(
            operation=_OPERATIONS[pending.operation],
            namespace=pending.namespace,
            name=pending.name,
            subresource=pending.subresource,
            user=pending.user,
            dry_run=pending.dry_run,
            old=None if pending.entry is None else pending.entry.value,
            obj=pending.obj,
            record=pending.record,
            goes=pending.goes,
            confirm=partial(pending.confirm, store),
            warn=pending.warn,
        )
        async with declared(write, environment()):
            pending.beside += [records.write(record) for record in write.records]
            yield

    return enter


class ViewConverter:
    """The converter of a view's kind: it shows stored objects as objects of the view."""

    def __init__(self, view: View, kind: str, environment: Callable[[], Environment]) -> None:
        self._view = view
        self._kind = kind
        self._environment = environment

    async def convert(
        self, objects: Sequence[Object], api_version: str, anew: bool = False
    ) -> list[Object]:
        """Return the objects of the view. Objects that already have its kind stay as they are."""
        result = list(objects)
        others = [at for at, obj in enumerate(objects) if obj["kind"] != self._kind]
        views = await self._view.show([objects[at] for at in others], self._environment())
        for at, obj in zip(others, views, strict=True):
            result[at] = obj
        return result
