"""The request value that the stages of a write share: object, old object, call, options.

`create`, `update` and `delete` list the stages, each a function of `Parts` and a `WriteRequest`.
Plugins see its base class, `admission.Attributes`. Only the stages use the other fields.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from inkube.apiserver.registry.admission import Attributes, Chain, Effect
from inkube.apiserver.registry.systemfields import SystemFields
from inkube.apiserver.registry.worker import Worker
from inkube.schemas.strategy import Reservation
from inkube.storage import BaseStore, Entries, Entry, writes

Commit = Callable[[Sequence[writes.Write]], Awaitable[Entries]]
"""Commits writes to a store and returns their entries, as `BaseStore.commit` does."""


class Parts(NamedTuple):
    """The parts of a server that the stages of every write use."""

    chain: Chain
    system_fields: SystemFields
    worker: Worker


@dataclass(slots=True)
class WriteRequest(Attributes):
    """One attempt to write an object. Each further attempt has a new WriteRequest."""

    store: BaseStore = field(kw_only=True)
    """The store that receives the write: the real one, or that of dry runs."""
    commit: Commit = field(kw_only=True)
    """Commits the write of the object to that store."""
    entry: Entry | None = None
    """The stored object, in the storage version; None on CREATE."""
    is_admitted: bool = False
    """Whether admission has accepted the write already (an eviction)."""
    is_patch: bool = False
    """Whether a patch made the object. Its repeated owner references are then removed only after
    mutating admission."""
    is_owned: bool = False
    """Whether the owners of fields are already recorded in the object."""
    reservation: Reservation | None = None
    """Resources held until the write ends; None for kinds without shared resources."""
    effects: Sequence[Effect] = ()
    """Writes to other places, carried out before the object is stored."""
