"""The view of controllers whose work is objects of every kind: what is served, what holds what.

An informer per kind would keep a copy of everything; a catalog tells of an object only what binds
it to others, and only when something does. The composition root gives one to those who need it.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from inkube.controllers.client import Object
from inkube.controllers.informer import Key
from inkube.schemas.meta import GVR


class Kind(NamedTuple):
    """A kind in one of its served versions."""

    resource: GVR
    kind: str
    namespaced: bool
    verbs: frozenset[str]


class Owner(NamedTuple):
    """One of `metadata.ownerReferences`; `blocks` is its blockOwnerDeletion."""

    api_version: str
    kind: str
    name: str
    uid: str
    blocks: bool


class Item(NamedTuple):
    """What binds an object: its key names its resource, such as `apps/v1/deployments`."""

    key: Key
    uid: str
    owners: tuple[Owner, ...] = ()
    finalizers: tuple[str, ...] = ()
    is_deleting: bool = False

    @classmethod
    def of(cls, obj: Object, resource: GVR | str) -> "Item":
        """Read it from an object's metadata."""
        meta = obj["metadata"]
        return cls(
            Key(meta.get("namespace", ""), meta["name"], str(resource)),
            meta["uid"],
            tuple(_owners(meta.get("ownerReferences") or ())),
            tuple(meta.get("finalizers") or ()),
            bool(meta.get("deletionTimestamp")),
        )


class Step(NamedTuple):
    """What happened to an object: no `old` when it became known, no `new` when it went."""

    old: Item | None
    new: Item | None

    @property
    def item(self) -> Item:
        """The newest known state."""
        found = self.new if self.new is not None else self.old
        assert found is not None
        return found


Follower = Callable[[Step], None]


class Catalog(Protocol):
    """Everything that is served. Callbacks must return at once; each call returns what ends it."""

    def kinds(self) -> list[Kind]:
        """Every kind, each in one version."""
        ...

    def find(self, api_version: str, kind: str) -> Kind | None:
        """The kind in that version, if it is served."""
        ...

    def follow(
        self, follower: Follower, anew: Callable[[], None], *, known: bool = False
    ) -> Callable[[], None]:
        """Tell of every object that has owners or is being deleted whenever it changes, and of
        every object that goes; before whoever changed it has an answer. `known` begins with the
        objects that are there.

        `anew` is called when steps were missed: all that is known may be otherwise. With `known`
        the objects that are there then are told again after it.
        """
        ...

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Tell when kinds come into service or go out of it."""
        ...


def _owners(references: Iterable[Object]) -> Iterable[Owner]:
    for reference in references:
        yield Owner(
            reference.get("apiVersion", ""),
            reference.get("kind", ""),
            reference.get("name", ""),
            reference.get("uid", ""),
            bool(reference.get("blockOwnerDeletion")),
        )
