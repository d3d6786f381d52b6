"""The data for controllers that handle objects of every kind: the served kinds, and owners and
finalizers.

An informer for each kind would keep a copy of every object. A catalog reports only owners and
finalizers, and only for objects that have some. The composition root provides it.
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
    """The owners and finalizers of an object; its key contains its resource, such as
    `apps/v1/deployments`."""

    key: Key
    uid: str
    owners: tuple[Owner, ...] = ()
    finalizers: tuple[str, ...] = ()
    is_deleting: bool = False

    @classmethod
    def of(cls, obj: Object, resource: GVR | str) -> "Item":
        """Return the item of an object, read from its metadata."""
        meta = obj["metadata"]
        return cls(
            Key(meta.get("namespace", ""), meta["name"], str(resource)),
            meta["uid"],
            tuple(_owners(meta.get("ownerReferences") or ())),
            tuple(meta.get("finalizers") or ()),
            bool(meta.get("deletionTimestamp")),
        )


class Step(NamedTuple):
    """A change of an object: no `old` for a new object, no `new` for a removed one."""

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
    """The served kinds. Callbacks must return immediately. Methods that register a callback return
    a function that removes it."""

    def kinds(self) -> list[Kind]:
        """Return all served kinds, each in one version."""
        ...

    def kinds_in(self, namespace: str) -> list[Kind]:
        """Return the kinds that have objects in a namespace, by what this process has read."""
        ...

    def find(self, api_version: str, kind: str) -> Kind | None:
        """Return the kind in a version; None if it is not served."""
        ...

    def follow(
        self, follower: Follower, anew: Callable[[], None], *, includes_stored: bool = False
    ) -> Callable[[], None]:
        """Call a function for every change of an object that has owners or is being deleted, and
        for every removed object, before the response to its writer. With `includes_stored`, it is
        first called for the existing objects.

        `anew` is called if steps were missed, so that all earlier data may be outdated. With
        `includes_stored`, the function is then called for the existing objects again.
        """
        ...

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call a function when the set of served kinds changes."""
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
