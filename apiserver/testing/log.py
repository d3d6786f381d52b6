"""The log of a test: every HTTP request, and every change of every object.

The thread of the server fills it, and the thread of the test reads it. The plugin prints it when a
test fails. Both lists are bounded: in a long test, the oldest entries are dropped.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from inkube.apiserver.http import RequestRecord
from inkube.apiserver.registry import keys
from inkube.apiserver.testing.criteria import Criteria
from inkube.apiserver.watching import OpenWatch
from inkube.schemas.objects import Object
from inkube.storage import Change, Following, Store

SHOWN = 60
"""The number of newest lines that are printed of each log."""
MOST = 20_000
MOST_BYTES = 64 * 2**20
"""The maximum size of each log: `MOST` entries, and `MOST_BYTES` bytes."""
NEAREST = 5
"""The number of most similar requests that an error shows."""


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """One change: `type` is ADDED, MODIFIED or DELETED; `object` is the stored object."""

    type: str
    revision: int
    data: bytes

    @property
    def object(self) -> Object:
        """A copy of the object after the change, or before its deletion."""
        found: Object = orjson.loads(self.data)
        return found

    def __str__(self) -> str:
        obj = self.object
        meta = obj["metadata"]
        line = f"{self.revision:>6} {self.type:<8} {obj['kind']} {_name(obj)}"
        if "generation" in meta:
            line += f" generation={meta['generation']}"
        return line + _status(obj)


class Requests(list[RequestRecord]):
    """Requests in the order in which they finished. `where` filters them."""

    def where(self, **criteria: Any) -> "Requests":
        """Return the requests that match the criteria; `Criteria` describes them."""
        wanted = Criteria.of(criteria)
        return Requests(record for record in tuple(self) if not wanted.misses(record))


class UnchangedWrites(NamedTuple):
    """Writes that changed nothing: their number, the manager, and the object."""

    times: int
    who: tuple[str, ...]
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        where = "/".join(part for part in (self.namespace, self.name) if part)
        return f"{self.times} needless writes of {self.kind} {where} by {', '.join(self.who)}"


class TestLog:
    """`requests` in the order they finished, `history` of all objects in the order of revisions,
    `watches` that are open."""

    __test__ = False

    def __init__(self) -> None:
        self.requests = Requests()
        self.forgotten = 0
        """The number of older requests and changes that are no longer kept."""
        self.gaps = 0
        """The number of gaps in `history`, because another process made more changes than can be
        delivered."""
        self.open_watches: Callable[[], Sequence[OpenWatch]] = lambda: ()
        self.spelled: Callable[[str], str] = str
        """Returns a resource that is named by kind or short name as `plural.group`."""
        self._changes: list[ObjectChange] = []
        self._bytes = [0, 0]

    def record(self, store: Store) -> Following:
        """Add all changes of a store from now on, until the result is closed."""
        return store.follow(keys.ROOT, self.record_changes, on_relist=self.miss_changes)

    def record_request(self, record: RequestRecord) -> None:
        """Add a request. The server calls this."""
        self.requests.append(record)
        self._bytes[0] += len(record.sent) + len(record.answered)
        if len(self.requests) > MOST or self._bytes[0] > MOST_BYTES:
            gone = self._forget(self.requests)
            self._bytes[0] -= sum(len(each.sent) + len(each.answered) for each in gone)

    def record_changes(self, changes: Sequence[Change]) -> None:
        """Add committed changes. The store calls this."""
        for change in changes:
            data = change.entry.data
            self._changes.append(ObjectChange(change.type, change.revision, data))
            self._bytes[1] += len(data)
        if len(self._changes) > MOST or self._bytes[1] > MOST_BYTES:
            gone = self._forget(self._changes)
            self._bytes[1] -= sum(len(each.data) for each in gone)

    def miss_changes(self) -> None:
        """Count a gap. The store calls this if it missed changes of another process."""
        self.gaps += 1

    def _forget(self, entries: list[Any]) -> list[Any]:
        """Remove the older half of the entries, and return it."""
        half = (len(entries) + 1) // 2
        gone = entries[:half]
        del entries[:half]
        self.forgotten += half
        return gone

    def history(self, kind: str = "", name: str = "", namespace: str = "") -> list[ObjectChange]:
        """Return the changes of the matching objects, or of all objects without arguments."""
        return [
            change for change in tuple(self._changes) if _fits(change.object, kind, name, namespace)
        ]

    def watches(self, **criteria: Any) -> list[OpenWatch]:
        """Return the watches over HTTP that are open and match the criteria: resource, namespace,
        name, user, user_agent."""
        wanted = self._criteria(criteria)
        return [watch for watch in self.open_watches() if not wanted.misses_watch(watch)]

    def expect(self, times: int | None = None, **criteria: Any) -> Requests:
        """Return the matching requests: at least one, or exactly `times`. Raises AssertionError
        with the most similar requests."""
        __tracebackhide__ = True
        wanted = self._criteria(criteria)
        every = Requests(self.requests)
        found = Requests(record for record in every if not wanted.misses(record))
        if (found and times is None) or len(found) == times:
            return found
        raise AssertionError(self._unexpected(wanted, every, found, times))

    def _criteria(self, criteria: dict[str, Any]) -> Criteria:
        if isinstance(criteria.get("resource"), str):
            criteria = {**criteria, "resource": self.spelled(criteria["resource"])}
        return Criteria.of(criteria)

    def _unexpected(
        self, criteria: Criteria, every: Requests, matching: Requests, times: int | None
    ) -> str:
        many = "at least one request" if times is None else f"{times} requests"
        lines = [
            f"expected {many} with {criteria}, there were {len(matching)} (of {len(every)} in all)"
        ]
        lines += [f"  fits: {record}" for record in matching[:NEAREST]]
        others = [(criteria.misses(record), record) for record in every if record not in matching]
        others.sort(key=lambda pair: len(pair[0]))
        for misses, record in others[:NEAREST]:
            lines.append(f"  near: {record}: {'; '.join(misses)}")
        if self.forgotten:
            lines.append(f"  {self.forgotten} older entries were forgotten")
        return "\n".join(lines)

    def needless_writes(self, times: int = 2) -> list[UnchangedWrites]:
        """Return objects that were written without a change, or back to an earlier state, at least
        this number of times; the most frequent first.

        Times, versions, generations and managedFields do not count as changes. A write over HTTP
        that changes nothing creates no revision. Such a write is detected because its response has
        an earlier version.
        """
        found: dict[tuple[str, str, str], list[str]] = {}
        seen: dict[tuple[str, str, str], set[bytes]] = {}
        for change in tuple(self._changes):
            obj = change.object
            key = _key(obj)
            content = _content(obj)
            if change.type != "MODIFIED":
                seen[key] = {content}
            elif content in seen.setdefault(key, set()):
                found.setdefault(key, []).append(_writer(obj))
            seen[key].add(content)
        for key, who in self._unchanging():
            found.setdefault(key, []).append(who)
        writes = [
            UnchangedWrites(len(who), tuple(sorted(set(who))), *key)
            for key, who in found.items()
            if len(who) >= times
        ]
        return sorted(writes, key=lambda each: -each.times)

    def _unchanging(self) -> Iterator[tuple[tuple[str, str, str], str]]:
        """Yield updates and patches whose response has the resourceVersion of an
        earlier response."""
        known: set[tuple[str, str, str, str]] = set()
        for record in tuple(self.requests):
            if record.verb not in ("create", "update", "patch") or record.code not in (200, 201):
                continue
            answer = record.answer
            if not isinstance(answer, dict) or "resourceVersion" not in answer.get("metadata", {}):
                continue
            version = *_key(answer), answer["metadata"]["resourceVersion"]
            if version in known:
                yield _key(answer), record.user_agent or record.user
            known.add(version)

    def sections(self) -> Iterator[tuple[str, str]]:
        """Yield the title and text of each section for the report of a failed test."""
        if self.requests:
            yield "inkube requests", _tail([str(record) for record in self.requests])
        if self._changes:
            yield "inkube objects", _tail([str(change) for change in self._changes])


def _name(obj: Object) -> str:
    meta = obj["metadata"]
    return "/".join(part for part in (meta.get("namespace"), meta["name"]) if part)


def _key(obj: Object) -> tuple[str, str, str]:
    meta = obj["metadata"]
    return obj.get("kind", ""), meta.get("namespace", ""), meta["name"]


_UNCOUNTED = frozenset({"resourceVersion", "generation", "managedFields"})
_TIMES = frozenset({"lastTransitionTime", "lastHeartbeatTime", "lastProbeTime", "lastUpdateTime"})


def _content(obj: Object) -> bytes:
    """Return the content of an object without metadata that changes with each write, in a fixed
    order."""
    meta = {name: value for name, value in obj["metadata"].items() if name not in _UNCOUNTED}
    shown = _without_times({**obj, "metadata": meta})
    return orjson.dumps(shown, option=orjson.OPT_SORT_KEYS)


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: _without_times(member) for name, member in value.items() if name not in _TIMES
        }
    return [_without_times(item) for item in value] if isinstance(value, list) else value


def _writer(obj: Object) -> str:
    """Return the field manager with the latest time in managedFields."""
    fields: list[Object] = obj["metadata"].get("managedFields") or []
    newest: Object = max(fields, key=lambda entry: entry.get("time", ""), default={})
    return str(newest.get("manager", "")) or "somebody"


def _fits(obj: Object, kind: str, name: str, namespace: str) -> bool:
    meta = obj["metadata"]
    return (
        kind in ("", obj["kind"])
        and name in ("", meta["name"])
        and namespace in ("", meta.get("namespace", ""))
    )


def _status(obj: Object) -> str:
    """Return conditions and field errors as a short text."""
    status = obj.get("status")
    if not isinstance(status, dict):
        return ""
    parts = [
        *(f"{each.get('type')}={each.get('status')}" for each in _dicts(status, "conditions")),
        *(f"{each.get('field')}: {each.get('detail')}" for each in _dicts(status, "fieldErrors")),
    ]
    return f" [{'; '.join(parts)}]" if parts else ""


def _dicts(status: Object, member: str) -> list[Object]:
    found = status.get(member)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _tail(lines: list[str]) -> str:
    left_out = len(lines) - SHOWN
    head = [f"… {left_out} earlier ones"] if left_out > 0 else []
    return "\n".join([*head, *lines[-SHOWN:]])
