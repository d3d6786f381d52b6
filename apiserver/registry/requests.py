"""The request value that the stages of a write share: object, old object, call, options.

`create`, `update` and `delete` list the stages, each a function of `Parts` and a `WriteRequest`.
What plugins see of it is `admission.Attributes`; the rest is between the stages.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from inkube.apiserver.registry.admission import Attributes, Chain, Effect
from inkube.apiserver.registry.stamps import Stamps
from inkube.apiserver.registry.worker import Worker
from inkube.schemas.strategy import Reservation
from inkube.storage import BaseStore, Entries, Entry, writes

Commit = Callable[[Sequence[writes.Write]], Awaitable[Entries]]
"""See `BaseStore.commit`."""


class Parts(NamedTuple):
    """What the stages of every write work with."""

    chain: Chain
    stamps: Stamps
    worker: Worker


@dataclass(slots=True)
class WriteRequest(Attributes):
    """One attempt to write an object: what is tried again begins with another one."""

    store: BaseStore = field(kw_only=True)
    """Where it is written to, for real or as a dry run."""
    commit: Commit = field(kw_only=True)
    """How the object's own write comes to that store."""
    entry: Entry | None = None
    """What is stored now, in its own version; None on CREATE."""
    is_admitted: bool = False
    """Whether admission was asked already (of an eviction)."""
    is_patch: bool = False
    """Whether the object was made by a patch: what it repeats is dropped after mutation only."""
    is_owned: bool = False
    """Whether who set what is recorded in the object."""
    reservation: Reservation | None = None
    """What is held until the write is over; None for kinds that hold nothing."""
    effects: Sequence[Effect] = ()
    """What has to be written elsewhere before the object."""
