"""Is a history right? What clients were told, judged against one order of all writes.

`judge` searches for an order: a history is linearizable when every operation can be placed at one
moment between its question and its answer so that, in that order, each is answered as a register
with versions would be. Keys do not depend on each other, so each is searched alone (Wing & Gong's
search with Lowe's memory of places already seen, as porcupine does it).

`compare` holds a history against the log that was left in the end: what touches many keys (lists,
watches) has a revision, and with it a place in the order of all.
"""

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Literal, NamedTuple

ABSENT = 0  # the revision of a key that does not live


@dataclass
class Operation:
    """One question and its answer; times are of one clock.

    `expected` is the revision a write asks for, ABSENT for a create; `tag` is the text it wrote, of
    its own, or that a get saw; `revision` what it made or saw. A write without an answer may have
    happened at any later moment, or never.
    """

    kind: Literal["get", "create", "update", "delete"]
    key: str
    asked: float
    answered: float = math.inf
    expected: int = ABSENT
    tag: str = ""
    outcome: Literal["done", "refused", "unknown"] = "unknown"
    revision: int = ABSENT

    @property
    def is_acknowledged(self) -> bool:
        """Whether it is a write that was answered as done."""
        return self.kind != "get" and self.outcome == "done"

    def after(self, state: int) -> int | None:
        """The state it leaves behind when it finds `state`; None: it cannot have found that."""
        if self.kind == "get":
            return state if state == self.revision else None
        if self.outcome == "refused":
            return state if state != self.expected else None
        if state != self.expected:
            return None
        return ABSENT if self.kind == "delete" else self.revision


@dataclass
class Listing:
    """A list: what lived, by key, at the revision it says."""

    asked: float
    answered: float
    revision: int
    items: Mapping[str, int]


class Event(NamedTuple):
    """A step of the log, as a watcher is told it."""

    revision: int
    key: str
    type: str
    tag: str


@dataclass
class Watching:
    """What one watcher was told after `start`, at however many servers, in the order it came."""

    prefix: str
    start: int
    events: list[Event] = field(default_factory=list)


def judge(history: Iterable[Operation]) -> list[Operation]:
    """The operations of a key that no order explains; empty for a linearizable history."""
    by_key: dict[str, list[Operation]] = defaultdict(list)
    for operation in history:
        if operation.kind != "get" or operation.outcome == "done":
            by_key[operation.key].append(operation)
    for operations in by_key.values():
        operations.sort(key=lambda each: each.asked)
        _recognize(operations)
        if not _has_order(operations):
            return operations
    return []


def _recognize(operations: Sequence[Operation]) -> None:
    """Give a write without an answer the revision somebody saw its text at; one that nobody saw
    gets a revision that nobody can expect."""
    seen = {each.tag: each.revision for each in operations if each.kind == "get"}
    for number, each in enumerate(operations, 1):
        if each.outcome == "unknown":
            each.revision = seen.get(each.tag, -number)


def _has_order(operations: Sequence[Operation]) -> bool:
    answered = sum(1 << n for n, each in enumerate(operations) if each.outcome != "unknown")
    places = [(0, ABSENT)]
    known = set(places)
    while places:
        done, state = places.pop()
        if done & answered == answered:
            return True
        first = (~done & (done + 1)).bit_length() - 1  # the first that is not done
        first_answer = math.inf
        for n in range(first, len(operations)):
            each = operations[n]
            if each.asked > first_answer:
                break  # it comes after what was answered before it was asked
            if done >> n & 1:
                continue
            first_answer = min(first_answer, each.answered)
            after = each.after(state)
            if after is not None and (place := (done | 1 << n, after)) not in known:
                known.add(place)
                places.append(place)
    return False


def compare(
    history: Sequence[Operation],
    lists: Sequence[Listing],
    watches: Sequence[Watching],
    log: Sequence[Event],
) -> list[str]:
    """What of all this is not as in the log, which begins with nothing and has no holes."""
    found: list[str] = []
    for before, event in pairwise(log):
        if event.revision != before.revision + 1:
            found.append(f"{event.revision} follows {before.revision}")
    found += lost(history, log) + _disordered(history, lists)
    found += _mislisted(lists, log)
    for watch in watches:
        until = watch.events[-1].revision if watch.events else watch.start
        due = [
            event
            for event in log
            if watch.start < event.revision <= until and event.key.startswith(watch.prefix)
        ]
        if watch.events != due:
            found.append(f"a watch after {watch.start} was told {watch.events}, not {due}")
    return found


def lost(history: Sequence[Operation], log: Sequence[Event]) -> list[str]:
    """Acknowledged writes that are not in the log."""
    steps = {event.revision: event for event in log}
    found = []
    for each in history:
        if not each.is_acknowledged:
            continue
        step = steps.get(each.revision)
        if step is None or step.key != each.key or (each.kind != "delete" and step.tag != each.tag):
            found.append(f"{each} was acknowledged, the log has {step}")
    return found


def _disordered(history: Sequence[Operation], lists: Sequence[Listing]) -> list[str]:
    """Answers older than what had been answered before they were asked for."""
    writes = sorted((each.answered, each.revision) for each in history if each.is_acknowledged)
    answers = sorted(writes + [(each.answered, each.revision) for each in lists])
    newest = list(accumulate((revision for _, revision in answers), max))
    found = []
    for each in lists:
        place = bisect_left(answers, (each.asked, 0))
        if place and newest[place - 1] > each.revision:
            seen = newest[place - 1]
            found.append(f"a list at {each.revision} was asked for after {seen} had been seen")
    return found


def _mislisted(lists: Sequence[Listing], log: Sequence[Event]) -> list[str]:
    """Lists that show another moment than they say."""
    living: dict[str, int] = {}
    found: list[str] = []
    place = 0
    for each in sorted(lists, key=lambda each: each.revision):
        while place < len(log) and log[place].revision <= each.revision:
            event = log[place]
            living[event.key] = event.revision
            if event.type == "DELETED":
                del living[event.key]
            place += 1
        if living != each.items:
            found.append(f"a list at {each.revision} showed {dict(each.items)}, not {living}")
    return found
