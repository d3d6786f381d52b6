"""A write: one attempt of a request to change an object, and the only value that its stages change.

    Request ──▶ Change ──▶ Write ──▶ stages ──▶ Outcome
                  │          ▲          │
                  └──────────┴── engine: another attempt if another write was faster

A `Change` says how the new object follows from the old one. The engine creates a Write for each
attempt. Plugins of admission see the same Write.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

import orjson

from inkube.apiserver.registry import conversions
from inkube.apiserver.registry.requests import (
    NO_OPTIONS,
    NOTHING_SEALED,
    DeleteOptions,
    Notes,
    Request,
    Sealed,
    WriteOptions,
)
from inkube.apiserver.registry.rounds import PluginRounds, Rounds
from inkube.apiserver.registry.systemfields import SystemFields
from inkube.schemas.objects import Empty, Object
from inkube.schemas.ownership import Steps, finished
from inkube.schemas.status import StatusError
from inkube.schemas.strategy import Reservation
from inkube.storage import BaseStore, Entries, Entry, Store, errors, writes

T = TypeVar("T")

Operation = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]
Effect = Callable[[Reservation], Awaitable[None]]
"""Writes to another place, and registers the undo with the Reservation. Raises StatusError to
refuse the write of the object."""
Beside = Callable[[], Sequence[writes.Write]]
"""Returns writes for the object's commit. Called again if another write changed one of their
objects meanwhile. Raises StatusError."""
Committer = Callable[["Write", Sequence[writes.Write]], Awaitable[Entries]]
"""Commits a batch of a write and returns its entries, as `Write.commit_to_store` does."""


class Outcome(NamedTuple):
    """The result of a write. `entry` is the stored state; `Registry.shown` converts it."""

    entry: Entry
    created: bool = False
    deleted: bool = False
    changed: bool = True


class Admission(Protocol):
    """The plugins of admission (`admission.Chain`)."""

    async def mutate(self, write: "Write") -> None: ...
    async def validate(self, write: "Write") -> None: ...
    async def supplement(self, write: "Write", refusal: StatusError) -> None: ...
    def reserve(self, write: "Write") -> Sequence[Effect]: ...
    def only_refuses(self, write: "Write") -> bool: ...


class Runner(Protocol):
    """What stages use of the engine that runs them (`engine.PlainEngine`)."""

    @property
    def chain(self) -> Admission: ...
    @property
    def system_fields(self) -> SystemFields: ...
    async def run(self, weight: int, do: Callable[..., T], *args: Any) -> T:
        """Run a computation, which takes long if `weight` is more than LIGHT bytes."""

    async def carry_out(self, request: Request, change: "Change") -> Outcome:
        """Carry out another change, for a plugin that must do so first. Raises StatusError."""


class Change:
    """A kind of change. Each attempt has its own Write, but all attempts have the same Change."""

    __slots__ = ()
    options: DeleteOptions | None = None
    """The options of a delete; None for other changes."""
    reads = True
    """Whether it begins with the stored object."""
    sealed: Sealed = NOTHING_SEALED
    """The secret values of its body."""
    keeps_owners = False
    """Whether an object that is too large with managedFields is refused instead of losing them."""
    sets_undeclared = False
    """Whether it can set fields of a custom resource that the schema does not declare."""
    creates = False
    """Whether it may create the object if it is not stored."""
    repeatable = False
    """Whether it may begin with an uncommitted state, and again with another state if the first
    one is never stored: its result does not depend on the old resourceVersion."""

    async def carry_out(self, write: "Write") -> Outcome:
        """Run the stages of the change. Raises StatusError, and errors of storage if another write
        was faster."""
        raise NotImplementedError

    def restarts(self, error: Exception) -> bool:
        """Return whether it starts again with the newer state after an error: a PreconditionError,
        or a ReservationLost."""
        return True

    async def make(self, write: "Write") -> Object:
        """Return the new object, in the version of the request."""
        return await write.run(self.compute, write)

    def compute(self, write: "Write") -> Object:
        """Return the new object, without waiting. Must not change `write.old`."""
        raise NotImplementedError


UNCHANGED = Change()  # of a write that only admission sees, such as a Binding


@dataclass(slots=True)
class Write:
    """One attempt. `object` is None on DELETE, `old` on CREATE; both have the request's version."""

    engine: Runner
    request: Request
    change: Change = UNCHANGED
    operation: Operation = "CREATE"
    object: Object | None = None
    old: Object | None = None
    options: WriteOptions | DeleteOptions = NO_OPTIONS
    name: str = ""
    """The name of the object, which a create can generate."""
    notes: Notes = field(default_factory=Notes)
    """The notes of this attempt; those of the last attempt are added to the request's."""
    store: BaseStore = field(init=False)
    """The store that receives the write: the real one, or that of dry runs."""
    committer: Committer | None = None
    """How the engine commits the object; None for a plain commit to `store`."""
    entry: Entry | None = None
    """The stored object, in the storage version; None on CREATE."""
    size: int = 0
    """Bytes of the request's body or of the stored object, whichever is larger. Large ones are
    processed outside the event loop."""
    empties: Sequence[Empty] = ()
    """Empty lists and maps of the body, which validation sees, but which are not stored."""
    generated_prefix: str = ""
    """The prefix of a generated name: generateName, or that of the kind's strategy; else ""."""
    owners: Literal["unrecorded", "waiting", "recorded"] = "unrecorded"
    """Whether managedFields contains the owners of the new object's fields (`ownership.own`)."""
    rounds: Rounds | None = None
    """The rounds of mutation, created when a plugin first calls a hook."""
    beside: tuple[Beside, ...] = ()
    """Functions that return the writes in the same commit as the object. They read the store when
    the commit begins."""
    effects: Sequence[Effect] = ()
    """Writes to other places, carried out before the object is stored."""
    reservation: Reservation | None = None
    """Resources held until the write ends; None for kinds without shared resources."""
    record: Object | None = None
    """For a view: the object behind the view, as it will be stored."""
    goes: bool = False
    """Whether the object is removed with this commit."""

    @property
    def key(self) -> str:
        """The key of the object in the store."""
        return self.request.resource.key(self.request.namespace, self.name)

    @property
    def dry_run(self) -> bool:
        """Whether the write is a dry run; for plugins with side effects outside the store."""
        return self.options.dry_run

    def commit(self, batch: Sequence[writes.Write]) -> Awaitable[Entries]:
        """Commit the object, and what is written next to it, as the engine does. Raises the errors
        of `BaseStore.commit`."""
        if self.committer is not None:
            return self.committer(self, batch)
        return self.commit_to_store(batch)

    def commit_to_store(self, batch: Sequence[writes.Write]) -> Awaitable[Entries]:
        """Commit writes to the store of this write. Raises the errors of `BaseStore.commit`."""
        return self.store.commit(batch, self.request.consent)

    @property
    def new(self) -> Object:
        """The object of a create or update, after its first stage."""
        assert self.object is not None, "creates and updates have an object"
        return self.object

    @property
    def stored(self) -> Entry:
        """The entry of an update or delete."""
        assert self.entry is not None, "what changes or deletes has something to change"
        return self.entry

    def copy_of_old(self) -> Object:
        """Return a copy of `old`, which the caller can change."""
        if self.request.resource.converter is None:
            return self.request.copy(self.stored)
        copied: Object = orjson.loads(orjson.dumps(self.old))
        return copied

    def give_name(self, name: str) -> None:
        """Set the name of a new object."""
        self.name = name
        if not self.generated_prefix:  # a client did not send a generated one
            self.notes.name = name

    def warn(self, text: str) -> None:
        """Add a Warning header, once."""
        self.notes.warnings[text] = None

    async def confirm(self, store: Store) -> None:
        """Check, with locks of a transaction held, that the object has not changed since the write
        began. Raises Conflict, NotFound or AlreadyExists of storage, as a commit does."""
        await store.current()
        found = store.get(self.key)
        if self.entry is None:
            if found is not None:
                raise errors.AlreadyExists(self.key, found)
        elif found is None:
            raise errors.NotFound(self.key)
        elif found.revision != self.entry.revision:
            raise errors.Conflict(self.key, self.entry.revision, found)

    def rounds_of(self, plugin: str) -> PluginRounds:
        """Return the `PluginRounds` of a plugin for this write."""
        if self.rounds is None:
            self.rounds = Rounds()
        return self.rounds.of(plugin)

    def run(self, do: Callable[..., T], *args: Any) -> Awaitable[T]:
        """Run a computation of this write: a function of values, which does not write to the store
        or read shared state. Returns its result, or raises its error."""
        return self.engine.run(self.request.effort(self.size), do, *args)

    async def finish(self, steps: Steps[T]) -> T:
        """Run a computation that yields each object that it needs in another version. Waits only
        for a kind with a converter."""
        resource = self.request.resource
        if resource.converter is None:
            return await self.run(finished, steps, resource.reshape)
        return await conversions.finish(resource.converter, steps)
