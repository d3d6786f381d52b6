"""The records and transactions of kinds declared in Python, over the server's store."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import orjson

from inkube.apiserver import registry
from inkube.apiserver.registry import Resource, Resources, SystemFields, Transactor, failures
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
            raise self._refusal(error, records) from error
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

    def _refusal(
        self, error: storage_errors.PreconditionError, records: Sequence[Record]
    ) -> status.StatusError:
        """Return the error for the record whose key the store refuses."""
        for record in records:
            resource, meta = self._resource(record.object), record.object["metadata"]
            if resource.key(meta.get("namespace", ""), meta["name"]) == error.key:
                return failures.refusal(error, resource.group, resource.plural, meta["name"])
        raise error


def transactor(
    declared: Transaction,
    environment: Callable[[], Environment],
    records: StoredRecords,
    store: Store,
) -> Transactor:
    """Return a kind's transaction in the form that the registry enters."""

    @asynccontextmanager
    async def enter(write: registry.Write, further: list[writes.Write]) -> AsyncIterator[None]:
        request = write.request
        told = Write(
            operation=_OPERATIONS[write.operation],
            namespace=request.namespace,
            name=write.name,
            subresource=request.subresource,
            user=request.user.name,
            dry_run=write.dry_run,
            old=None if write.entry is None else write.entry.value,
            obj=write.object,
            record=write.record,
            goes=write.goes,
            confirm=partial(write.confirm, store),
            warn=write.warn,
        )
        async with declared(told, environment()):
            further += [records.write(record) for record in told.records]
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
