"""The generic registry: create, get, update, delete of any kind, over one store.

Every write of every client passes through this module. `create`, `update` and `delete` list the
stages of a write. This module selects the store (a dry run is another store, not another path) and
repeats attempts that lose a race. Follows apiserver/pkg/registry/generic/registry/store.go.
"""

import contextlib
from collections.abc import Sequence
from functools import partial

import orjson

from inkube.apiserver.registry import conversions, preparation
from inkube.apiserver.registry.admission import Chain, Operation
from inkube.apiserver.registry.attempts import Attempts, Pipelined
from inkube.apiserver.registry.calls import Call, DeleteOptions, WriteOptions
from inkube.apiserver.registry.commits import Outcome
from inkube.apiserver.registry.create import create
from inkube.apiserver.registry.delete import delete
from inkube.apiserver.registry.repeats import Repeats
from inkube.apiserver.registry.requests import Commit, Parts, WriteRequest
from inkube.apiserver.registry.selections import Selections
from inkube.apiserver.registry.systemfields import SystemFields
from inkube.apiserver.registry.update import Update, update
from inkube.apiserver.registry.worker import Worker
from inkube.schemas import status
from inkube.schemas.objects import Object
from inkube.schemas.strategy import Reservation, ReservationLost
from inkube.storage import BaseStore, Entry, Store
from inkube.storage import errors as storage_errors

MAX_RETRIES = 100  # each lost race means that another write won


class Registry:
    """The registry of all kinds. The Call contains the kind.

    `attempts` describes the option `pipelined`, and `repeats` the option `patch_cache`.
    """

    def __init__(
        self,
        store: Store,
        chain: Chain,
        system_fields: SystemFields,
        *,
        pipelined: bool = True,
        patch_cache: bool = True,
    ) -> None:
        self.store = store
        self.chain = chain
        self.system_fields = system_fields
        self.selections = Selections(store)
        self.repeats = Repeats(store, chain, is_disabled=not patch_cache)
        self.worker = Worker()
        """Runs the computations of writes. The owner of the registry closes it."""
        self._parts = Parts(chain, system_fields, self.worker)
        self._attempts = Pipelined(store, chain) if pipelined else Attempts(store)
        # the registry itself checks for newer writes when a request arrives
        self._rehearsals = Attempts(store.dry_run(refreshes=False))

    def get(self, call: Call) -> Entry:
        """Return the newest state. Raises StatusError 404."""
        entry = self.store.get(call.key)
        if entry is None:
            raise status.not_found(call.resource.group, call.resource.plural, call.name)
        return entry

    async def shown(self, call: Call, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Return the entries in the call's version, for `Call.view`. Raises StatusError 500."""
        if call.resource.converter is None:
            return entries
        return await conversions.shown(call.resource, call.served, entries)

    def store_of(self, options: WriteOptions | DeleteOptions) -> BaseStore:
        """Return the store for a write with these options."""
        return self._attempts_of(options).store

    async def create(self, call: Call, obj: Object) -> Outcome:
        """Store a new object. Sets its name, namespace, uid and times. Raises StatusError."""
        await self.store.current()
        if call.resource.definition.allocates:
            return await self._allocate(call, obj)
        store = self._attempts_of(call.options).store
        write = WriteRequest(
            "CREATE", call, obj, options=call.options, store=store, commit=store.commit
        )
        return await create(self._parts, write)

    async def _allocate(self, call: Call, obj: Object) -> Outcome:
        """Create an object of a kind that allocates addresses or ports. Try again if another
        process took the same one. Raises StatusError 409 after MAX_RETRIES attempts."""
        store = self._attempts_of(call.options).store
        fresh, told = orjson.dumps(obj), len(call.warnings)
        for _ in range(MAX_RETRIES):
            call.take_back(told)
            write = self._request("CREATE", call, None, store.commit)
            write.object = orjson.loads(fresh)
            with contextlib.suppress(ReservationLost), Reservation() as write.reservation:
                return await create(self._parts, write)
        raise status.conflict(call.resource.group, call.resource.plural, call.name)

    async def update(self, call: Call, change: Update) -> Outcome:
        """Replace the stored object with the result of `change`. Raises StatusError."""
        await self.store.current()
        told = len(call.warnings)
        for _ in range(MAX_RETRIES):
            call.take_back(told)  # warnings of the last attempt
            outcome = await self._try(call, change)
            if outcome is not None:
                return outcome
        raise preparation.stale(call)

    async def _try(self, call: Call, change: Update) -> Outcome | None:
        """Read, change, and write an object.

        Returns None if another write changed the object meanwhile and the change allows another
        attempt. Raises StatusError 409 if it does not.
        """
        attempts, work = self._attempts_of(call.options), partial(self._update, call, change)
        try:
            return await attempts.update(call, work, repeatable=change.repeatable)
        except (storage_errors.NotFound, ReservationLost):
            return None  # deleted or created meanwhile, or another process took its address
        except storage_errors.Conflict as error:
            if not change.retry:
                raise preparation.stale(call) from error
            return None

    async def _update(
        self, call: Call, change: Update, entry: Entry | None, commit: Commit
    ) -> Outcome:
        """Run one attempt with the given state (None: no object is stored)."""
        write = self._request("CREATE" if entry is None else "UPDATE", call, entry, commit)
        try:
            if call.resource.definition.allocates:
                with Reservation() as write.reservation:
                    return await update(self._parts, write, change)
            return await update(self._parts, write, change)
        except status.StatusError as error:
            if entry is None and error.reason == status.Reason.ALREADY_EXISTS:
                raise ReservationLost from error  # created meanwhile
            raise

    async def delete(
        self, call: Call, options: DeleteOptions, *, is_admitted: bool = False
    ) -> Outcome:
        """Delete the object, or set its deletionTimestamp while finalizers keep it.

        `is_admitted` means that admission has accepted it already (an eviction). Raises
        StatusError.
        """
        await self.store.current()
        attempts = self._attempts_of(options)

        async def work(entry: Entry | None, commit: Commit) -> Outcome:
            write = self._request("DELETE", call, entry, commit, options)
            write.is_admitted = is_admitted
            return await delete(self._parts, write, options)

        for _ in range(MAX_RETRIES):
            with contextlib.suppress(storage_errors.Conflict, storage_errors.NotFound):
                return await attempts.delete(call, work)
        raise status.conflict(call.resource.group, call.resource.plural, call.name)

    def _attempts_of(self, options: WriteOptions | DeleteOptions) -> Attempts:
        return self._rehearsals if options.dry_run else self._attempts

    def _request(
        self,
        operation: Operation,
        call: Call,
        entry: Entry | None,
        commit: Commit,
        options: DeleteOptions | None = None,
    ) -> WriteRequest:
        chosen = call.options if options is None else options
        store = self._attempts_of(chosen).store
        return WriteRequest(
            operation, call, None, options=chosen, store=store, commit=commit, entry=entry
        )
