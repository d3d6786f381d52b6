"""A value computed from stored objects and cached until one of them changes: hooks, flows, quotas.

It is computed when it is read, and again after a change or after the whole store was read again.
"""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from inkube.storage import Store

T = TypeVar("T")


class StoreCache(Generic[T]):
    """The result of `make`, which depends on the objects under some prefixes. Follows the store
    until the store ends."""

    def __init__(self, store: Store, prefixes: Sequence[str], make: Callable[[], T]) -> None:
        self._make = make
        self._values: Sequence[T] = ()
        """Contains the value; empty if the value must be computed again."""
        self._listeners: tuple[Callable[[], None], ...] = ()
        for prefix in prefixes:
            store.follow(prefix, self._changed, on_relist=self._changed)

    @property
    def value(self) -> T:
        """The current value. Do not change it."""
        if not self._values:
            self._values = (self._make(),)
        return self._values[0]

    def when_changed(self, listener: Callable[[], None]) -> None:
        """Call `listener` from now on whenever the value may be another one."""
        self._listeners = (*self._listeners, listener)

    def _changed(self, changes: object = None) -> None:
        self._values = ()
        for listener in self._listeners:
            listener()
