"""The watch cache: current entries, recent changes, and subscriptions.

    writer → publish → index (current entries) → history (bounded) → subscriptions by prefix

All data is in memory and no call suspends, so a read and the subscription that follows it see one
state. History is one sequence of changes for all keys, without gaps. `store` reads older changes
from the log.
"""

import asyncio
import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from inkube.storage.columns import Columns
from inkube.storage.entry import Change, Changes, Entries, Entry, EntryCodec
from inkube.storage.errors import Closed, Compacted, Damaged, StorageError
from inkube.storage.index import Index
from inkube.storage.log import FIRST_REVISION, Horizon, Range, bounds, matches
from inkube.storage.subscription import Subscription

LOOKS = 8  # checks of all subscriptions for each replacement of the whole history
FOLDERS = 1_024  # folders of keys for which the subscribed scopes are cached


class CacheOptions(NamedTuple):
    """The limits: changes and bytes in history, and waiting changes of one subscriber."""

    history: int = 8_192
    history_bytes: int = 32 * 2**20
    queue: int = 4_096


class Cache:
    """The cache of one store. Only the writer changes it."""

    def __init__(self, options: CacheOptions, coder: EntryCodec) -> None:
        self.revision = FIRST_REVISION
        self.compacted = FIRST_REVISION
        self._options = options
        self._make = coder.make
        self._free = coder.free
        self._published: Sequence[Change] = ()
        """The changes that were published last."""
        self._index = Index(Columns(coder.make))
        self._damaged: frozenset[str] = frozenset()
        self._history: deque[Change] = deque()
        self._history_bytes = 0
        self._forgotten = 0
        """Bytes that history has dropped since the subscribers were checked."""
        self._remembers = FIRST_REVISION
        self._subscriptions: dict[str, dict[Subscription, None]] = {}
        self._followed: dict[str, tuple[str, ...]] = {}
        """Recently written key prefixes (up to the last slash) → the prefixes with subscribers that
        contain them. Valid until these change."""
        self._newest: dict[str, int] = {}
        """The results of `newest` for the prefixes that have subscribers, kept up to date."""
        self._is_loaded = False
        self._missed = 0
        """Deletions up to this revision may be missing from history: the newest revision at the
        time when everything was read again, or 0 if that never happened."""
        self._waiters: list[tuple[int, asyncio.Future[None]]] = []
        self._wake_at = math.inf

    # Current entries.

    def get(self, key: str) -> Entry | None:
        """Return the entry of a key, or None. Raises Damaged."""
        entry = self._index.get(key)
        if entry is None and key in self._damaged:
            raise Damaged(key)
        return entry

    def damaged(self, prefix: str) -> Sequence[str]:
        """Return the keys under a prefix whose entries are omitted because they are damaged."""
        return [key for key in self._damaged if matches(prefix, key)] if self._damaged else ()

    def list(self, prefix: str, limit: int = 0) -> Columns:
        """Return a copy of the first `limit` entries (0: all) under a prefix."""
        return self._index.list(*bounds(prefix), limit)

    def count(self, prefix: str, after: str = "") -> int:
        """Return the number of entries under a prefix, after a key."""
        return self._index.count(*Range(prefix, after).interval)

    # Recent changes.

    def since(self, prefix: str, revision: int) -> Changes | None:
        """Return every change under a prefix after a revision, or None if history does not go back
        that far."""
        if revision < self._remembers:
            return None
        if revision >= self.revision:  # as for most subscriptions: the newest
            return []
        changes = [change for change in self._newer(revision) if matches(prefix, change.entry.key)]
        changes.reverse()
        return changes

    def page(self, keys: Range, revision: int) -> tuple[Entries, int] | None:
        """Return the entries at a revision, and the number of further entries beyond the limit;
        None as for `since`. Later changes are undone only for this page."""
        if revision < self._remembers:
            return None
        low, high = keys.interval
        # the oldest change of a key is found last and contains the state before it
        undone = {
            change.entry.key: change.previous
            for change in self._newer(revision)
            if low <= change.entry.key < high
        }
        limit = keys.limit and keys.limit + len(undone)
        entries = self._index.list(low, high, limit)
        total = self._index.count(low, high) if keys.limit else 0
        if undone:
            total += self._grown(undone)
            entries = self._undo(entries, undone, is_all=not limit or len(entries) < limit)
        page = entries[: keys.limit] if undone and keys.limit else entries
        return page, max(0, total - len(page)) if keys.limit else 0

    def _grown(self, undone: Mapping[str, Entry | None]) -> int:
        """Return the number of additional entries that existed before the given changes."""
        return sum(
            (before is not None) - (self._index.get(key) is not None)
            for key, before in undone.items()
        )

    def _undo(
        self, entries: Columns, undone: Mapping[str, Entry | None], *, is_all: bool
    ) -> Columns:
        """Return the entries in their state before the changes."""
        last = entries.keys[-1] if entries and not is_all else None
        by_key = {entry.key: entry for entry in entries if entry.key not in undone}
        by_key |= {
            key: before
            for key, before in undone.items()
            if before is not None and (last is None or key <= last)
        }
        return Columns(self._make, (by_key[key] for key in sorted(by_key)))

    # Subscriptions.

    def subscribe(self, prefix: str, after: int) -> Subscription:
        """Return a subscription to everything that is published from now on. The store adds earlier
        changes."""
        subscription = Subscription(self, prefix, after, self._options.queue)
        if prefix not in self._subscriptions:
            self._followed.clear()
        self._subscriptions.setdefault(prefix, {})[subscription] = None
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """Stop publishing changes to a subscription. Can be called twice."""
        scope = self._subscriptions.get(subscription.prefix)
        if scope is not None:
            scope.pop(subscription, None)
            if not scope:
                del self._subscriptions[subscription.prefix]
                self._followed.clear()
                self._newest.pop(subscription.prefix, None)

    async def reached(self, revision: int) -> None:
        """Return once `revision` is published. Raises Closed."""
        if self.revision < revision:
            waiter = asyncio.get_running_loop().create_future()
            place = (revision, waiter)
            self._waiters.append(place)
            self._wake_at = min(self._wake_at, revision)
            try:
                await waiter
            finally:
                if waiter.cancelled() and place in self._waiters:
                    self._waiters.remove(place)

    # Called by the writer.

    def load(self, entries: Columns, horizon: Horizon, damaged: Iterable[str] = ()) -> None:
        """Start again with entries in the order of their keys. The changes in between are unknown.
        After the entries are loaded, all subscriptions therefore end with Compacted."""
        before = self.revision
        self._index = Index(entries)
        self._damaged = frozenset(damaged)
        self._history.clear()
        self._history_bytes = 0
        self.compacted = horizon.compacted
        self.revision = self._remembers = horizon.newest
        self._missed = horizon.newest if self._is_loaded else 0
        self._is_loaded = True
        self._end_subscriptions(Compacted(before, horizon.compacted))
        self._wake()

    def newest(self, prefix: str) -> int:
        """Return the revision of the newest change under a prefix, including deletions in history.
        It is never older than the revision at which everything was read again, because a deletion
        may have been missed.

        The result is cached for prefixes with subscribers: a client that waits until a server is
        idle queries every kind repeatedly, and each call searched 4,000 changes of pods.
        """
        revision = self._newest.get(prefix)
        if revision is None:
            revision = self._find_newest(prefix)
            if prefix in self._subscriptions:
                self._newest[prefix] = revision
        return revision

    def _find_newest(self, prefix: str) -> int:
        for change in reversed(self._history):
            if matches(prefix, change.entry.key):
                return change.revision
        return max(max(self.list(prefix).revisions, default=0), self._missed)

    def before(self, prefix: str, changes: int) -> int:
        """Return the revision before the last `changes` changes under a prefix, as far as history
        goes back."""
        for change in reversed(self._history):
            if matches(prefix, change.entry.key):
                changes -= 1
                if not changes:
                    return change.revision - 1
        return self._remembers

    def publish(self, changes: Sequence[Change]) -> None:
        """Make committed changes visible to all readers at once. They follow the newest change."""
        for change in changes:
            if change.type == "DELETED":
                self._index.remove(change.entry.key)
            else:
                self._index.put(change.entry)
        self.revision = changes[-1].revision
        self._remember(changes)
        if self._subscriptions:
            self._distribute(changes)
        self._free_replaced(changes)
        if self.revision >= self._wake_at:
            self._wake()

    def close(self) -> None:
        """End every subscription and every wait for a revision."""
        self._end_subscriptions(None)
        for _, waiter in self._waiters:
            if not waiter.done():
                waiter.set_exception(Closed())
        self._waiters.clear()

    def _end_subscriptions(self, error: StorageError | None) -> None:
        subscriptions, self._subscriptions = self._subscriptions, {}
        self._followed.clear()
        self._newest.clear()
        for scope in subscriptions.values():
            for subscription in scope:
                subscription.end(error)

    # Helpers.

    def _free_replaced(self, changes: Sequence[Change]) -> None:
        """Free the decoded states that the changes before these replaced. Watchers have compared
        them by now."""
        for change in self._published:
            if change.previous is not None:
                self._free(change.previous.data)
        self._published = changes

    def _newer(self, revision: int) -> Iterator[Change]:
        for change in reversed(self._history):
            if change.revision <= revision:
                return
            yield change

    def _remember(self, changes: Sequence[Change]) -> None:
        self._history.extend(changes)
        for change in changes:
            self._history_bytes += change.weight
        while (
            len(self._history) > self._options.history
            or self._history_bytes > self._options.history_bytes
        ):
            oldest = self._history.popleft()
            self._history_bytes -= oldest.weight
            self._forgotten += oldest.weight
            self._remembers = oldest.revision
        if self._forgotten > self._options.history_bytes // LOOKS:
            self._forgotten = 0
            for scope in tuple(self._subscriptions.values()):
                for subscription in tuple(scope):
                    subscription.forget(self._remembers)

    def _distribute(self, changes: Sequence[Change]) -> None:
        if len(changes) == 1:
            for scope in self._scopes(changes[0].entry.key):
                self._note(scope, changes)
                for subscription in tuple(self._subscriptions.get(scope, ())):
                    subscription.offer(changes)
            return
        batches: dict[str, Changes] = {}
        for change in changes:
            for scope in self._scopes(change.entry.key):
                batches.setdefault(scope, []).append(change)
        for scope, batch in batches.items():
            self._note(scope, batch)
            for subscription in tuple(self._subscriptions.get(scope, ())):
                subscription.offer(batch)

    def _note(self, scope: str, changes: Sequence[Change]) -> None:
        if scope in self._newest:
            self._newest[scope] = changes[-1].revision

    def _scopes(self, key: str) -> Sequence[str]:
        """Return the prefixes with subscribers that contain this key."""
        folder = key[: key.rfind("/") + 1]
        subscribed = self._followed.get(folder)
        if subscribed is None:
            ends = (at + 1 for at, char in enumerate(folder) if char == "/")
            scopes = (folder[:end] for end in ends)
            subscribed = tuple(scope for scope in scopes if scope in self._subscriptions)
            if len(self._followed) >= FOLDERS:
                self._followed.clear()
            self._followed[folder] = subscribed
        return (key, *subscribed) if key in self._subscriptions else subscribed

    def _wake(self) -> None:
        for revision, waiter in self._waiters:
            if revision <= self.revision and not waiter.done():
                waiter.set_result(None)
        self._waiters = [pair for pair in self._waiters if not pair[1].done()]
        self._wake_at = min((revision for revision, _ in self._waiters), default=math.inf)
