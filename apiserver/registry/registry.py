"""The generic registry: create, get, update, delete of any kind, over one store.

Every write of every client passes through `write`, which the engine carries out. Follows
apiserver/pkg/registry/generic/registry/store.go.
"""

from collections.abc import Sequence
from typing import Literal

from inkube.apiserver.registry import conversions
from inkube.apiserver.registry.admission import Chain
from inkube.apiserver.registry.engine import FastEngine, PlainEngine
from inkube.apiserver.registry.requests import Request
from inkube.apiserver.registry.selections import Selections
from inkube.apiserver.registry.systemfields import SystemFields
from inkube.apiserver.registry.write import Change, Operation, Outcome, Write
from inkube.schemas import status
from inkube.schemas.objects import Object
from inkube.storage import Entry, Store

EngineName = Literal["fast", "plain"]


class Registry:
    """The registry of all kinds. The Request contains the kind.

    `engine`, `pipelined` and `patch_cache` are options of the server. The owner of the registry
    closes its engine.
    """

    def __init__(
        self,
        store: Store,
        chain: Chain,
        system_fields: SystemFields,
        *,
        engine: EngineName = "fast",
        pipelined: bool = True,
        patch_cache: bool = True,
    ) -> None:
        self.store = store
        self.chain = chain
        self.system_fields = system_fields
        self.selections = Selections(store)
        self.engine = (
            PlainEngine(store, chain, system_fields)
            if engine == "plain"
            else FastEngine(
                store, chain, system_fields, pipelined=pipelined, patch_cache=patch_cache
            )
        )

    def get(self, request: Request) -> Entry:
        """Return the newest state. Raises StatusError 404."""
        entry = self.store.get(request.key)
        if entry is None:
            raise status.not_found(request.resource.group, request.resource.plural, request.name)
        return entry

    async def shown(self, request: Request, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Return the entries in the request's version, for `Request.view`. Raises StatusError
        500."""
        return await conversions.shown(request.resource, request.served, entries)

    async def write(self, request: Request, change: Change) -> Outcome:
        """Carry out a change of one object. Raises StatusError."""
        return await self.engine.carry_out(request, change)

    def begin(self, request: Request, obj: Object) -> Write:
        """Return a write for the admission of an object that is not stored, such as a Binding."""
        return Write(
            self.engine,
            request,
            object=obj,
            options=request.options,
            name=request.name,
            notes=request.notes,
        )

    async def admit(self, request: Request, obj: Object, operation: Operation = "CREATE") -> None:
        """Run admission for an object that is not stored. Raises StatusError."""
        write = self.begin(request, obj)
        write.operation = operation
        await self.chain.mutate(write)
        await self.chain.validate(write)
