"""What is made of stored objects and kept until one of them changes: hooks in force, flows, quotas.

Whoever hears of changes may be told that there is more to hear of than was kept, or that the store
was read anew; then it is subscribed to again and made again.
"""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from inkube.storage.store import Store, Subscription

T = TypeVar("T")


class Derived(Generic[T]):
    """What `make` returns, of everything under some prefixes; follows the store until that ends."""

    def __init__(self, store: Store, prefixes: Sequence[str], make: Callable[[], T]) -> None:
        self._store = store
        self._prefixes = prefixes
        self._make = make
        self._made: list[T] = []
        """Empty when it has to be made anew."""
        self._subscriptions = self._subscribed()

    @property
    def value(self) -> T:
        """As of now; not to be changed."""
        for subscription in self._subscriptions:  # asked by every request
            if subscription.over:
                self._subscribe_again()
                break
        if not self._made:
            self._made.append(self._make())
        return self._made[0]

    def _subscribe_again(self) -> None:
        for subscription in self._subscriptions:
            subscription.close()
        self._changed()
        self._subscriptions = self._subscribed()

    def _subscribed(self) -> list[Subscription]:
        return [self._store.subscribe(each, deliver=self._changed) for each in self._prefixes]

    def _changed(self, changes: object = None) -> None:
        self._made.clear()
