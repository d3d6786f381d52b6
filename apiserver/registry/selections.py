"""Selectors as predicates over entries, and indexes by label and by field for frequent ones.

A key contains the namespace and the name of its object, so conditions on these need no object. All
others need it, and to decode a large object takes longer than everything else that a list does with
it.

A selector tests every object of a kind. If these are many or large, and a label or field is
selected again, its values are indexed: first in slices, while requests are served, then with every
published change. An index belongs to one served version of one Resource. A changed definition can
change values (a new default); it makes a new Resource, and so a new index. Only `listing` uses
indexes.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Sequence

from inkube.apiserver.registry.requests import ListOptions, Request
from inkube.apiserver.registry.resource import Resource
from inkube.schemas import selectors, status
from inkube.schemas.objects import Object
from inkube.schemas.served import Served
from inkube.storage import Change, Entry, Store

logger = logging.getLogger(__name__)

# The work of a scan (`work`) from which an index is faster.
MANY = 2_000
# A term is indexed after this number of uses.
OFTEN = 2
# Most indexes of a server, and most terms whose uses are counted. The index with the oldest use is
# dropped first; the counts start again together.
MOST, COUNTED = 8, 256
# The work of objects that are indexed in a row before the event loop serves other requests.
SLICE = 500

Value = Callable[[Object], str | None]
Matcher = Callable[[Entry], bool]

BYTES = 2_048


def work(data: bytes) -> int:
    """Return the work of a test of an object with these bytes, whose JSON is decoded. A small
    object is 1, and this number of its bytes takes as long."""
    return 1 + len(data) // BYTES


def matcher(request: Request, options: ListOptions) -> Matcher | None:
    """Return a predicate for both selectors, or None if every entry matches. Its entries are in the
    request's version (`conversions.shown`), those of a view in any version. Raises StatusError 400,
    also if the field selector does not ask for the only name of a watch."""
    if not options.labels and not options.fields:
        return None
    identity, content = selectors.compile(
        labels=options.labels, fields=options.fields, version=request.served.version
    )
    if request.name and options.fields and selectors.selected_name(options.fields) != request.name:
        raise status.bad_request("fieldSelector metadata.name doesn't match requested name")
    if identity is None and content is None:
        return None
    start, is_view = len(request.resource.prefix), request.resource.is_view

    def matches(entry: Entry) -> bool:
        if identity is not None:
            namespace, _, name = entry.key[start:].rpartition("/")
            if not identity(namespace, name):
                return False
        return content is None or content(entry.value if is_view else request.view(entry))

    return matches


class Selections:
    """The indexes of one store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._indexes: dict[tuple[Resource, Served, str], _Index] = {}
        self._requests: Counter[tuple[Resource, Served, str]] = Counter()

    def close(self) -> None:
        """Drop all indexes."""
        for index in self._indexes.values():
            index.close()
        self._indexes.clear()

    def candidates(self, request: Request, labels: str, fields: str) -> list[Entry] | None:
        """Return entries that include all matching ones, in the order of keys, or None without an
        index.

        The caller must still test every condition.
        """
        prefix = request.resource.key("", "")
        if request.resource.converter is not None:
            return None
        terms = _terms(labels, fields)[:MOST]
        if not terms or not self._are_many(prefix):
            return None
        for name, value, wanted in terms:
            place = (request.resource, request.served, name)
            index = self._indexes.pop(place, None)
            if index is not None and index.is_closed:
                index = None
            if index is None and self._is_often(place):
                index = _Index(self._store, prefix, self._reader(request, value))
            if index is None:
                continue
            self._indexes[place] = index  # move it to the end of the order
            while len(self._indexes) > MOST:
                self._indexes.pop(next(iter(self._indexes))).close()
            if index.complete:
                within = request.resource.key(request.namespace, "")
                return [entry for entry in index.entries(wanted) if entry.key.startswith(within)]
        return None

    def _are_many(self, prefix: str) -> bool:
        """Return whether a scan of the objects under a prefix is much work."""
        count = self._store.count(prefix)
        if count >= MANY:
            return True
        return count + sum(map(len, self._store.list(prefix).data)) // BYTES >= MANY

    def _is_often(self, key: tuple[Resource, Served, str]) -> bool:
        self._requests[key] += 1
        if self._requests[key] >= OFTEN:
            del self._requests[key]
            return True
        if len(self._requests) > COUNTED:
            self._requests.clear()
        return False

    @staticmethod
    def _reader(request: Request, value: Value) -> Callable[[Entry], str | None]:
        resource, served = request.resource, request.served
        return lambda entry: value(resource.view(entry, served))


def _terms(labels: str, fields: str) -> list[tuple[str, Value, tuple[str, ...]]]:
    """Return the conditions with values: for each, a name, a function that reads the value of an
    object, and the selected values."""
    requirements = selectors.parse_labels(labels) if labels else ()
    terms = selectors.parse_fields(fields) if fields else ()
    return [
        (f"label {each.key}", _label(each.key), each.values)
        for each in requirements
        if each.operator in ("=", "==", "in")
    ] + [
        (f"field {each.path}", _field(each.path), (each.value,))
        for each in terms
        # "" can match most objects, and metadata.name is a look-up
        if each.value and not each.negated and not each.path.startswith("metadata.")
    ]


def _label(key: str) -> Value:
    return lambda obj: (obj["metadata"].get("labels") or {}).get(key)


def _field(path: str) -> Value:
    return lambda obj: selectors.field_value(obj, path) or None


class _Index:
    """The keys of each value of one term."""

    def __init__(self, store: Store, prefix: str, read: Callable[[Entry], str | None]) -> None:
        self._store = store
        self._read = read
        self._keys: dict[str, dict[str, None]] = {}
        self.complete = False
        # From here on every change arrives; existing objects are read in slices.
        self._following = store.follow(prefix, self._on_changes, on_relist=self.close)
        self._filling = asyncio.create_task(self._fill(store.list(prefix)))

    @property
    def is_closed(self) -> bool:
        """Whether changes no longer arrive. Such an index must be replaced."""
        return self._following.is_closed

    def close(self) -> None:
        """Stop following the store."""
        self._filling.cancel()
        self._following.close()

    def entries(self, values: Sequence[str]) -> list[Entry]:
        """Return the entries that have one of the values now, in the order of keys."""
        keys = sorted({key for value in values for key in self._keys.get(value, ())})
        return [entry for key in keys if (entry := self._store.get(key)) is not None]

    async def _fill(self, entries: Sequence[Entry]) -> None:
        try:
            await self._read_all(entries)
        except Exception:
            logger.exception("an index of a selector could not be made")
            self._following.close()

    async def _read_all(self, entries: Sequence[Entry]) -> None:
        done = 0
        for entry in entries:
            done += work(entry.data)
            if done > SLICE:
                await asyncio.sleep(0)
                done = 0
            # later changes arrive through `_on_changes`
            now = self._store.get(entry.key)
            if now is not None and now.revision == entry.revision:
                self._add(entry)
        self.complete = True

    def _on_changes(self, changes: Sequence[Change]) -> None:
        for change in changes:
            if change.previous is not None:
                self._remove(change.previous)
            if change.type != "DELETED":
                self._add(change.entry)

    def _add(self, entry: Entry) -> None:
        value = self._read(entry)
        if value is not None:
            self._keys.setdefault(value, {})[entry.key] = None

    def _remove(self, entry: Entry) -> None:
        value = self._read(entry)
        keys = self._keys.get(value) if value is not None else None
        if keys is not None:
            keys.pop(entry.key, None)
            if not keys:
                del self._keys[value or ""]
