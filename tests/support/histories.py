"""Checks a history (the responses and events that clients saw) against the log in the database.

The log has one order of all writes, so no search is needed: a history is linearizable if every
response has a position in this order that is not before anything known when the request began, and
not after anything requested after the response. A write has the position of its revision. A read or
a refused write has the first position that explains its response.

Revisions of other keys (such as the Lease of the controllers) lie between those of a history. The
log that is passed contains all of them, so a gap in it is a lost write.

Servers compact the log, even during a long round. Before the horizon, only the newest rows of the
keys that existed there are left. They are checked against acknowledged writes. Responses that only
the missing rows could explain are not checked.
"""

import json
import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

ABSENT = 0  # the revision of a key that does not exist


class Row(NamedTuple):
    """A row of the log as in the database."""

    revision: int
    key: str
    previous: int
    deleted: bool
    data: bytes

    @property
    def state(self) -> int:
        """The revision of the state after this row; ABSENT after a deletion."""
        return ABSENT if self.deleted else self.revision

    @property
    def type(self) -> str:
        """The type of its event for watchers."""
        return "DELETED" if self.deleted else "MODIFIED" if self.previous else "ADDED"

    @property
    def tag(self) -> str:
        """The text that its writer chose; for a deletion, that of the state before."""
        tag: str = json.loads(self.data).get("data", {}).get("tag", "")
        return tag


@dataclass
class Operation:
    """One request and its response. All times are of the same clock.

    `expected` is the revision that a write requires: ABSENT for a create, None for any state. `tag`
    is the unique text that it wrote, or that a get returned. `revision` is the one it created or
    read; the response to a deletion does not contain its own. A write without a response may happen
    at any later time, or never.
    """

    kind: Literal["get", "create", "update", "patch", "delete"]
    key: str
    asked: float
    answered: float = math.inf
    expected: int | None = ABSENT
    tag: str = ""
    outcome: Literal["done", "conflict", "missing", "unknown"] = "unknown"
    revision: int = ABSENT

    @property
    def is_acknowledged(self) -> bool:
        """Whether this is a write with a response of success."""
        return self.kind != "get" and self.outcome == "done"

    def wrote(self, row: Row) -> bool:
        """Return whether a row comes from this operation, by its unique members."""
        if self.kind == "delete":
            return row.deleted and row.previous == self.expected
        return not row.deleted and row.tag == self.tag

    def replaces(self, previous: int) -> bool:
        """Return whether the operation could succeed on this state."""
        return previous != ABSENT if self.expected is None else previous == self.expected

    def explained(self, state: int) -> bool:
        """Return whether a response without a change is right for this state."""
        if self.kind == "get":
            return state == self.revision
        if self.outcome == "missing":
            return state == ABSENT
        return state not in (ABSENT, self.expected)


@dataclass
class Listing:
    """A list, from all its pages: the revision of each existing key at the list's revision. With
    `of_the_past` the request named that revision, so it may be old."""

    asked: float
    answered: float
    revision: int
    items: Mapping[str, int]
    of_the_past: bool = False


class Event(NamedTuple):
    """A row of the log as a watcher sees it."""

    revision: int
    key: str
    type: str
    tag: str


@dataclass
class Watching:
    """The events of one watcher after `start` and at least up to `until`, from any number of
    servers, in the order of arrival. `bookmarks` are revisions with the number of events before."""

    start: int
    until: int = 0
    events: list[Event] = field(default_factory=list)
    bookmarks: list[tuple[int, int]] = field(default_factory=list)


@dataclass
class History:
    """The responses and events of clients for the keys under a prefix."""

    prefix: str
    operations: list[Operation] = field(default_factory=list)
    lists: list[Listing] = field(default_factory=list)
    watches: list[Watching] = field(default_factory=list)
    strange: list[str] = field(default_factory=list)
    """Responses that no request may get."""


@dataclass
class Log:
    """All rows that were written, in the order in which they were read from the database."""

    newest: int = 0
    compacted: int = 0
    left: dict[str, int] = field(default_factory=dict)
    """The states that existed at `compacted`. Older rows are deleted."""
    living: dict[str, int] = field(default_factory=dict)
    """The newest state of every key."""
    recent: dict[int, Row] = field(default_factory=dict)
    """Rows of the last two readings; they must appear again in the next one."""
    _before: int = field(default=0, repr=False)

    @property
    def since(self) -> int:
        """The revision after which the next reading begins."""
        return min(self.recent, default=self.newest + 1) - 1

    def read(self, rows: Sequence[Row], compacted: int) -> tuple[list[Row], list[str]]:
        """Add the rows after `since`, and compare those left from before `compacted`. Return the
        new rows and all errors."""
        found = {row.revision: row for row in rows}
        wrong = [
            f"{row} was read before and is {found.get(revision)} now"
            for revision, row in self.recent.items()
            if revision > compacted and found.get(revision) != row
        ]
        known_before = self.newest
        fresh = [row for row in rows if row.revision > known_before]
        self.compacted = compacted
        self.left = {row.key: row.state for row in rows if row.revision <= compacted}
        for key, state in self.living.items():
            left = self.left.get(key, ABSENT)
            # beyond the known rows it may have been deleted, and the deletion compacted
            if state <= compacted and left < state and (left or compacted <= known_before):
                wrong.append(f"{key} was at {state} and is at {left} after a compaction")
        if compacted > known_before:
            self.newest, self.living = compacted, dict(self.left)
        for row in fresh:
            if row.revision <= compacted:
                continue
            if row.revision != self.newest + 1:
                wrong.append(f"revision {row.revision} follows {self.newest}")
            state = self.living.get(row.key, ABSENT)
            if row.previous != state:
                wrong.append(f"{row} replaces {row.previous}, and {state} was there")
            self.newest = row.revision
            self.living[row.key] = row.state
        last = {revision: row for revision, row in self.recent.items() if revision > self._before}
        self.recent = last | {row.revision: row for row in fresh}
        self._before = known_before
        return fresh, wrong


class Horizon(NamedTuple):
    """The revision up to which a log is compacted, and the states that existed there, by key."""

    revision: int
    left: Mapping[str, int]


class Verdict(NamedTuple):
    """The errors of a history: acknowledged writes that are missing in the log or differ from the
    response; rows without a writer or with two; responses that no position in the log explains;
    lists and watches that differ from the log."""

    lost: list[str]
    made_up: list[str]
    unordered: list[str]
    mislisted: list[str]
    mistold: list[str]

    @property
    def all(self) -> list[str]:
        """All errors."""
        return [text for found in self for text in found]


def judge(
    history: History,
    rows: Sequence[Row],
    begun: int,
    living: Mapping[str, int],
    pending: Collection[Operation] = (),
    horizon: Horizon | None = None,
) -> Verdict:
    """Check a history against the rows of its keys after revision `begun`, where `living` existed.
    `pending` are older writes without a response, which may have happened only now. `horizon` is
    passed for a compacted log."""
    if horizon is None or horizon.revision <= begun:
        horizon = Horizon(begun, living)
    order = _Order(history, rows, begun, living, horizon)
    lost = order.place_acknowledged() + order.missing_behind_the_horizon(pending)
    made_up = order.place_unanswered(pending)
    whole = [row for row in rows if row.revision > horizon.revision]
    return Verdict(
        lost,
        made_up,
        order.place_reads(),
        _mislisted(history, whole, horizon),
        [
            text
            for watch in history.watches
            for text in mistold(watch, history.prefix, whole, horizon.revision)
        ],
    )


class _Order:
    """Finds the position of each response in the log."""

    def __init__(
        self,
        history: History,
        rows: Sequence[Row],
        begun: int,
        living: Mapping[str, int],
        horizon: Horizon,
    ) -> None:
        self._history = history
        self._rows = {row.revision: row for row in rows}
        self._begun = begun
        self._living = living
        self._horizon = horizon
        self._steps: dict[str, list[Row]] = defaultdict(list)
        for row in rows:
            if row.revision > horizon.revision:
                self._steps[row.key].append(row)
        self._places: dict[int, Operation] = {}
        """The operation that wrote each row."""

    def place_acknowledged(self) -> list[str]:
        """Return the acknowledged writes that the log lacks or contains differently."""
        found = []
        for each in self._history.operations:
            if not each.is_acknowledged:
                continue
            row = self._row_of(each)
            if row is None and self._may_be_compacted(each):
                if each.revision in self._places:
                    found.append(f"{each} and {self._places[each.revision]} are both {row}")
                elif each.revision:
                    self._places[each.revision] = each
            elif row is None or (each.revision and row.revision != each.revision):
                found.append(f"{each} was acknowledged, the log has {row}")
            elif row.revision in self._places:
                found.append(f"{each} and {self._places[row.revision]} are both {row}")
            else:
                self._places[row.revision] = each
                if not each.replaces(row.previous):
                    found.append(f"{each} replaced {row.previous}")
        return found

    def missing_behind_the_horizon(self, pending: Iterable[Operation]) -> list[str]:
        """Return keys whose state at the horizon is missing or older than acknowledged, although no
        operation deleted them; and deleted keys that exist."""
        known = {key: state for key, state in self._living.items() if key.startswith(
            self._history.prefix)}  # fmt: skip
        deletions = []
        for each in [*pending, *self._history.operations]:
            if each.kind == "delete" and each.outcome in ("done", "unknown"):
                deletions.append(each)
            elif each.is_acknowledged and self._is_compacted(each.revision):
                known[each.key] = max(each.revision, known.get(each.key, ABSENT))
        found = []
        for key, state in known.items():
            left = self._horizon.left.get(key, ABSENT)
            may_be_gone = any(each.key == key and (each.expected or 0) >= state
                              for each in deletions)  # fmt: skip
            if left < state and (left or not may_be_gone):
                found.append(f"{key} came to {state} and is at {left} behind the horizon")
        return found

    def place_unanswered(self, pending: Iterable[Operation]) -> list[str]:
        """Return rows that are explained by no write, by a refused write, or by a write that
        already has a row."""
        candidates = defaultdict(list)
        for each in [*pending, *self._history.operations]:
            if each.kind != "get" and each.outcome != "done":
                candidates[each.key].append(each)
        found = []
        tags: set[str] = set()
        for row in self._rows.values():
            if not row.deleted and row.tag in tags:
                found.append(f"{row} is written twice")
            tags.add(row.tag)
            if row.revision in self._places:
                continue
            writer = next((each for each in candidates[row.key] if each.wrote(row)
                           and each.outcome == "unknown"), None)  # fmt: skip
            if writer is None:
                refused = [each for each in candidates[row.key] if each.wrote(row)]
                found.append(f"{row} was written by nobody, or by who was refused: {refused}")
                continue
            self._places[row.revision] = writer
            if not writer.replaces(row.previous):
                found.append(f"{writer} replaced {row.previous}")
        return found

    def place_reads(self) -> list[str]:
        """Return responses without a position between earlier known revisions and later
        requests."""
        of = {id(each): revision for revision, each in self._places.items()}
        asked = sorted((each.asked, revision) for revision, each in self._places.items())
        first = [*_smallest_to_the_end([revision for _, revision in asked]), math.inf]
        known = _Known(self._begun)
        found = []
        lists = [each for each in self._history.lists if not each.of_the_past]
        answers: list[Operation | Listing] = [*self._history.operations, *lists]
        for each in sorted(answers, key=lambda each: each.answered):
            low = known.at(each.asked)
            high = first[bisect_right(asked, (each.answered, math.inf))]
            place: float | None
            if isinstance(each, Listing):
                place = each.revision if low <= each.revision < high else None
            elif id(each) in of:
                place = of[id(each)] if of[id(each)] > low else None
            elif each.outcome == "unknown" or each.is_acknowledged:
                continue  # it never happened, or its loss was already reported, or it was compacted
            elif low < self._horizon.revision and each.revision <= self._horizon.revision:
                # what explains it may have been compacted
                place = max(low, each.revision) if max(low, each.revision) < high else None
            else:
                low = max(low, self._horizon.revision)
                place = self._first_place(each, low, high)
            if place is None:
                found.append(f"{each} has no place between {low} and {high}")
            else:
                known.add(each.answered, int(place))
        return found

    def _first_place(self, operation: Operation, low: int, high: float) -> int | None:
        steps = self._steps[operation.key]
        number = bisect_right(steps, low, key=lambda row: row.revision)
        before = self._horizon.left.get(operation.key, ABSENT)
        state = steps[number - 1].state if number else before
        if operation.explained(state) and low < high:
            return low
        for row in steps[number:]:
            if row.revision >= high:
                break
            if operation.explained(row.state):
                return row.revision
        return None

    def _is_compacted(self, revision: int) -> bool:
        return self._begun < revision <= self._horizon.revision

    def _may_be_compacted(self, operation: Operation) -> bool:
        """Return whether the row of an acknowledged write may be deleted. The row of a deletion
        comes after the deleted state, which is not kept."""
        if operation.kind != "delete":
            revision = operation.revision
            return self._is_compacted(revision) and revision not in self._rows
        left = self._horizon.left.get(operation.key, ABSENT)
        expected = operation.expected or ABSENT
        return self._begun < self._horizon.revision and left != expected < self._horizon.revision

    def _row_of(self, operation: Operation) -> Row | None:
        if operation.kind == "delete":
            # an epoch moves the horizon, and leaves the rows before it, deletions included
            steps = [row for row in self._rows.values() if row.key == operation.key]
        else:
            row = self._rows.get(operation.revision)
            steps = [row] if row is not None and row.key == operation.key else []
        return next((row for row in steps if operation.wrote(row)), None)


class _Known:
    """The newest revision that any client knew, at any time."""

    def __init__(self, begun: int) -> None:
        self._times: list[float] = [-math.inf]
        self._revisions = [begun]

    def at(self, time: float) -> int:
        return self._revisions[bisect_left(self._times, time) - 1]

    def add(self, time: float, revision: int) -> None:
        """Add an observation; times must increase."""
        self._times.append(time)
        self._revisions.append(max(revision, self._revisions[-1]))


def _smallest_to_the_end(values: Sequence[int]) -> list[float]:
    smallest: list[float] = []
    for value in reversed(values):
        smallest.append(min(value, smallest[-1] if smallest else math.inf))
    return smallest[::-1]


def _mislisted(history: History, rows: Sequence[Row], horizon: Horizon) -> list[str]:
    """Lists at or after the horizon that show another state than that of their revision."""
    left = horizon.left.items()
    now = {key: state for key, state in left if key.startswith(history.prefix) and state}
    found: list[str] = []
    place = 0
    lists = [each for each in history.lists if each.revision >= horizon.revision]
    for each in sorted(lists, key=lambda each: each.revision):
        while place < len(rows) and rows[place].revision <= each.revision:
            row = rows[place]
            now[row.key] = row.revision
            if row.deleted:
                del now[row.key]
            place += 1
        if now != each.items:
            found.append(f"a list at {each.revision} showed {dict(each.items)}, not {now}")
    return found


def mistold(watch: Watching, prefix: str, rows: Sequence[Row], horizon: int) -> list[str]:
    """Return the differences between a watch and the log after the horizon."""
    told = [each for each in watch.events if each.revision > horizon or watch.start >= horizon]
    until = max([watch.until, *(each.revision for each in watch.events)])
    due = [
        Event(row.revision, row.key, row.type, row.tag)
        for row in rows
        if watch.start < row.revision <= until and row.key.startswith(prefix)
    ]
    found = []
    if told != due:
        extra = [each for each in told if each not in due]
        missing = [each for each in due if each not in told]
        found.append(f"a watch after {watch.start} was told {extra} and not {missing}, or not in "
                     f"their order: {[each.revision for each in told]}")  # fmt: skip
    for revision, place in watch.bookmarks:
        if sum(each.revision <= revision for each in watch.events) != place:
            found.append(f"a bookmark at {revision} came after {place} of {watch.events}")
    return found
