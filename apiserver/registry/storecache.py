"""What is made of stored objects and kept until one of them changes: hooks in force, flows, quotas.

It is made when it is asked for, and made again after a change, or after the store was read anew.
"""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from inkube.storage import Store

T = TypeVar("T")


class StoreCache(Generic[T]):
    """What `make` returns, of everything under some prefixes; follows the store until that ends."""

    def __init__(self, store: Store, prefixes: Sequence[str], make: Callable[[], T]) -> None:
        self._make = make
        self._made: list[T] = []
        """Empty when it has to be made anew."""
        for prefix in prefixes:
            store.follow(prefix, self._changed, anew=self._changed)

    @property
    def value(self) -> T:
        """As of now; not to be changed."""
        if not self._made:
            self._made.append(self._make())
        return self._made[0]

    def _changed(self, changes: object = None) -> None:
        self._made.clear()
