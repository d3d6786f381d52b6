"""The checker of histories finds their errors, and nothing else."""

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from histories import Event, History, Horizon, Listing, Log, Operation, Row, Watching, judge

A, B = "/r/a", "/r/b"


def row(revision: int, key: str = A, previous: int = 0, *, deleted: bool = False) -> Row:
    tag = f"t{previous if deleted else revision}"
    return Row(revision, key, previous, deleted, json.dumps({"data": {"tag": tag}}).encode())


def write(
    kind: Any, asked: float, answered: float, revision: int, expected: int | None, key: str = A
) -> Operation:
    told = 0 if kind == "delete" else revision
    return Operation(kind, key, asked, answered, expected, f"t{revision}", "done", told)


def get(asked: float, answered: float, revision: int, key: str = A) -> Operation:
    return Operation("get", key, asked, answered, 0, f"t{revision}", "done", revision)


def refused(kind: Any, asked: float, answered: float, expected: int | None, how: Any) -> Operation:
    return Operation(kind, A, asked, answered, expected, "refused", how)


CREATED = write("create", 0, 1, 101, 0)
UPDATED = write("update", 2, 3, 102, 101)
DELETED = write("delete", 4, 5, 103, 102)
UNANSWERED = replace(UPDATED, answered=math.inf, outcome="unknown", revision=0)
ROWS = [row(101), row(102, previous=101), row(103, previous=102, deleted=True)]

RIGHT = {
    "one after the other": ([CREATED, get(1.5, 1.7, 101), UPDATED, DELETED, get(6, 7, 0)], ROWS),
    "a read beside a write sees either": (
        [replace(CREATED, answered=5), get(1, 2, 0), get(3, 4, 101)], ROWS[:1],
    ),
    "a write without an answer happened": ([CREATED, UNANSWERED, get(3, 4, 102)], ROWS[:2]),
    "a write without an answer happened late": (
        [CREATED, UNANSWERED, get(3, 4, 101), get(5, 6, 102)], ROWS[:2],
    ),
    "a write without an answer never happened": ([CREATED, UNANSWERED, get(3, 4, 101)], ROWS[:1]),
    "a create found another": ([CREATED, refused("create", 2, 3, 0, "conflict")], ROWS[:1]),
    "an update found another": (
        [CREATED, UPDATED, refused("update", 4, 5, 101, "conflict")], ROWS[:2],
    ),
    "an update found nothing": (
        [CREATED, UPDATED, DELETED, refused("update", 6, 7, 101, "missing")], ROWS,
    ),
    "a patch finds what there is": ([CREATED, write("patch", 2, 3, 102, None)], ROWS[:2]),
    "two writers of two keys": (
        [replace(CREATED, answered=9), write("create", 0, 9, 102, 0, B)], [row(101), row(102, B)],
    ),
}  # fmt: skip
WRONG = {
    "an acknowledged write is lost": ([CREATED, UPDATED], ROWS[:1]),
    "an acknowledged deletion is lost": ([CREATED, UPDATED, DELETED], ROWS[:2]),
    "an acknowledged write has another's revision": ([CREATED], [row(101, B)]),
    "a read is stale": ([CREATED, UPDATED, get(4, 5, 101)], ROWS[:2]),
    "a read is stale of what is gone": ([CREATED, UPDATED, DELETED, get(6, 7, 102)], ROWS),
    "a read sees nothing of what is there": ([CREATED, get(2, 3, 0)], ROWS[:1]),
    "reads go back": ([replace(CREATED, answered=9), get(1, 2, 101), get(3, 4, 0)], ROWS[:1]),
    "a read sees what comes later": ([get(0, 1, 101), write("create", 2, 3, 101, 0)], ROWS[:1]),
    "two keys contradict each other": (
        [replace(CREATED, answered=9), write("create", 0, 9, 102, 0, B), get(1, 2, 102, B),
         get(3, 4, 0)], [row(101), row(102, B)],
    ),
    "two writes replace one state": (
        [CREATED, UPDATED, write("update", 2, 3, 103, 101)], [*ROWS[:2], row(103, previous=102)],
    ),
    "a write comes before one that was answered before": (
        [write("create", 2, 3, 101, 0), write("create", 0, 1, 102, 0, B)], [row(101), row(102, B)],
    ),
    "a create is refused that fits": ([refused("create", 2, 3, 0, "conflict")], []),
    "an update is refused that fits": (
        [CREATED, refused("update", 2, 3, 101, "conflict")], ROWS[:1],
    ),
    "an update is told that there is nothing": (
        [CREATED, refused("update", 2, 3, 101, "missing")], ROWS[:1],
    ),
    "a write is refused and done": (
        [CREATED, replace(UPDATED, outcome="conflict", revision=0)], ROWS[:2],
    ),
    "a write without an answer is taken back": (
        [CREATED, UNANSWERED, get(3, 4, 102), get(5, 6, 101)], ROWS[:2],
    ),
    "a write is done twice": (
        [CREATED, UNANSWERED], [*ROWS[:2], row(103, previous=102)._replace(data=ROWS[1].data)],
    ),
    "a row that nobody wrote": ([CREATED], ROWS[:2]),
}  # fmt: skip


def faults(history: History, rows: list[Row]) -> list[str]:
    return judge(history, rows, 100, {}).all


@pytest.mark.parametrize(("operations", "rows"), RIGHT.values(), ids=RIGHT)
def test_answers_that_the_log_explains_are_right(operations: list[Operation], rows: list[Row]):
    assert faults(History("/r/", operations), rows) == []


@pytest.mark.parametrize(("operations", "rows"), WRONG.values(), ids=WRONG)
def test_answers_that_the_log_does_not_explain_are_found(
    operations: list[Operation], rows: list[Row]
):
    assert faults(History("/r/", operations), rows) != []


def test_a_write_without_an_answer_may_happen_in_a_later_round():
    rows = [row(102, previous=101)]
    found = judge(History("/r/"), rows, 101, {A: 101}, pending=[UNANSWERED])
    assert found.all == []


BOTH = [row(101), row(102, B), row(103, previous=101, deleted=True)]
EVENTS = [Event(101, A, "ADDED", "t101"), Event(102, B, "ADDED", "t102"),
          Event(103, A, "DELETED", "t101")]  # fmt: skip
OPERATIONS = [CREATED, write("create", 2, 3, 102, 0, B), write("delete", 4, 5, 103, 101)]


@pytest.mark.parametrize(
    "lists",
    [
        [Listing(2.5, 3.5, 102, {A: 101, B: 102}), Listing(6, 7, 103, {B: 102})],
        [Listing(6, 7, 105, {B: 102})],  # newer revisions are of other keys
        [Listing(6, 7, 101, {A: 101}, of_the_past=True)],
    ],
)
def test_lists_of_what_was_there_are_right(lists: list[Listing]):
    assert faults(History("/r/", OPERATIONS, lists), BOTH) == []


@pytest.mark.parametrize(
    "listing",
    [
        Listing(6, 7, 101, {A: 101}),
        Listing(6, 7, 103, {A: 101, B: 102}),
        Listing(6, 7, 102, {A: 101}, of_the_past=True),
        Listing(0.1, 0.2, 103, {B: 102}),
    ],
    ids=["old", "something that is gone", "something missing", "from the future"],
)
def test_lists_of_anything_else_are_found(listing: Listing):
    assert faults(History("/r/", OPERATIONS, [listing]), BOTH) != []


def test_a_watch_with_every_event_is_accepted():
    watches = [Watching(100, 103, EVENTS, [(102, 2)]), Watching(101, 110, EVENTS[1:], [(110, 2)])]
    assert faults(History("/r/", OPERATIONS, [], watches), BOTH) == []


@pytest.mark.parametrize(
    "watch",
    [
        Watching(100, 103, [EVENTS[0], EVENTS[2]]),
        Watching(100, 103, EVENTS[:2]),
        Watching(100, 103, [EVENTS[0], *EVENTS]),
        Watching(100, 103, [EVENTS[1], EVENTS[0], EVENTS[2]]),
        Watching(100, 103, [*EVENTS, Event(104, A, "ADDED", "t104")]),
        Watching(100, 103, [EVENTS[0], EVENTS[1]._replace(type="MODIFIED"), EVENTS[2]]),
        Watching(100, 103, EVENTS, [(102, 1)]),
    ],
    ids=["one is missing", "the last is missing", "twice", "another order", "never was",
         "another type", "a bookmark too early"],
)  # fmt: skip
def test_a_watch_with_other_events_is_found(watch: Watching):
    assert faults(History("/r/", OPERATIONS, [], [watch]), BOTH) != []


def test_a_log_is_read_on():
    log = Log()
    assert log.read(BOTH[:2], 100) == (BOTH[:2], [])
    assert log.since == 100
    assert log.read(BOTH, 100) == (BOTH[2:], [])
    assert log.living == {A: 0, B: 102}
    later = row(104, B, 102)
    assert log.read([*BOTH[1:], later], 102) == ([later], [])
    assert log.since == 102


@pytest.mark.parametrize(
    "rows",
    [[row(102)], [row(101), row(103, B)], [row(101), row(102)], [row(101, previous=99)]],
    ids=["the first is missing", "one is missing", "previous is none", "previous never was"],
)
def test_a_log_with_holes_or_false_pointers_is_found(rows: list[Row]):
    _, wrong = Log().read(rows, 100)
    assert wrong != []


@pytest.mark.parametrize("again", [[], [row(101)._replace(data=b"{}")]], ids=["gone", "another"])
def test_a_row_that_is_not_found_again_is_found(again: list[Row]):
    log = Log()
    log.read([row(101)], 100)
    assert log.read(again, 100)[1] != []
    outlived = row(102, previous=101)
    assert log.read([outlived], 102) == ([outlived], []), "it was compacted"


def test_a_log_that_was_compacted_beyond_what_was_read_is_read_on():
    log = Log()
    log.read([row(101), row(102, B)], 100)
    left, later = row(104, previous=101), row(106, previous=104)
    assert log.read([left, later], 105) == ([left, later], [])
    assert log.left == {A: 104}
    assert log.living == {A: 106}, "the other was deleted, and the deletion compacted"


@pytest.mark.parametrize(
    ("rows", "compacted"),
    [
        ([], 101),
        ([row(104, previous=101), row(106, previous=101)], 104),
        ([row(104, previous=101), row(106, previous=104)], 104),
        ([row(90), row(105, B)], 104),
    ],
    ids=["what lives is gone", "previous never was", "one is missing", "what lives went back"],
)
def test_what_compaction_must_not_remove_is_missed(rows: list[Row], compacted: int):
    log = Log()
    log.read([row(101)], 100)
    assert log.read(rows, compacted)[1] != []


OUTLIVED = [CREATED, UPDATED, write("update", 4, 5, 103, 102), write("patch", 6, 7, 104, None)]
LEFT = [row(103, previous=102), row(104, previous=103)]
ENDED = [CREATED, UPDATED, DELETED, write("create", 6, 7, 104, 0, B)]
UNTOLD = replace(DELETED, answered=math.inf, outcome="unknown")
HORIZON = 103
BEHIND: dict[str, tuple[list[Operation], list[Row], dict[str, int]]] = {
    "writes were outlived": ([*OUTLIVED, get(8, 9, 104)], LEFT, {A: 103}),
    "reads of what was outlived": (
        [get(1.5, 1.7, 101), refused("update", 3.5, 3.7, 101, "conflict"), *OUTLIVED], LEFT,
        {A: 103},
    ),
    "a deletion was compacted": ([*ENDED, get(8, 9, 0)], [row(104, B)], {}),
    "a deletion without an answer was": (
        [CREATED, UPDATED, UNTOLD, ENDED[-1]], [row(104, B)], {},
    ),
    "a write without an answer is left": (
        [CREATED, UNANSWERED, ENDED[-1]], [ROWS[1], row(104, B)], {A: 102},
    ),
    "an epoch began, which removes no row": ([*ENDED, get(8, 9, 0)], [*ROWS, row(104, B)], {A: 0}),
}  # fmt: skip
LOST_BEHIND: dict[str, tuple[list[Operation], list[Row], dict[str, int]]] = {
    "an older state is left": (OUTLIVED[:3], [ROWS[1], row(104, B)], {A: 102}),
    "nothing is left, and nobody deleted it": ([CREATED, UPDATED], [row(104, B)], {}),
    "what was deleted was an older state": (
        [CREATED, UPDATED, replace(UNTOLD, expected=101)], [row(104, B)], {},
    ),
    "what was deleted is left": (ENDED, [ROWS[1], row(104, B)], {A: 102}),
    "another's write is left": (
        OUTLIVED, [LEFT[0]._replace(data=b'{"data": {"tag": "other"}}'), LEFT[1]], {A: 103},
    ),
    "the write after the horizon is missing": (OUTLIVED, LEFT[:1], {A: 103}),
}  # fmt: skip


def behind(history: History, rows: list[Row], left: dict[str, int]) -> list[str]:
    tags = {each.tag for each in history.operations}
    others = [write("create", 6, 7, each.revision, 0, B) for each in rows
              if each.key == B and each.tag not in tags]  # fmt: skip
    whole = History("/r/", [*history.operations, *others], history.lists, history.watches)
    return judge(whole, rows, 100, {}, horizon=Horizon(HORIZON, left)).all


@pytest.mark.parametrize(("operations", "rows", "left"), BEHIND.values(), ids=BEHIND)
def test_what_only_compacted_rows_explain_is_right(
    operations: list[Operation], rows: list[Row], left: dict[str, int]
):
    assert behind(History("/r/", operations), rows, left) == []


@pytest.mark.parametrize(("operations", "rows", "left"), LOST_BEHIND.values(), ids=LOST_BEHIND)
def test_a_loss_behind_the_horizon_is_found_by_what_is_left(
    operations: list[Operation], rows: list[Row], left: dict[str, int]
):
    assert behind(History("/r/", operations), rows, left) != []


def test_an_object_that_was_there_before_and_is_not_left_is_found():
    found = judge(History("/r/"), [], 100, {A: 90}, horizon=Horizon(HORIZON, {}))
    assert found.lost != []
    assert judge(History("/r/"), [], 100, {A: 90}, horizon=Horizon(HORIZON, {A: 90})).all == []


def test_a_stale_read_after_the_horizon_is_found():
    assert behind(History("/r/", [*OUTLIVED, get(8, 9, 103)]), LEFT, {A: 103}) != []


def test_lists_and_watches_are_judged_from_the_horizon_on():
    told = [Event(101, A, "ADDED", "t101"), Event(102, A, "MODIFIED", "t102"),
            Event(103, A, "MODIFIED", "t103"), Event(104, A, "MODIFIED", "t104")]  # fmt: skip
    lists = [Listing(3.1, 3.2, 102, {A: 102}), Listing(5.1, 5.2, 103, {A: 103})]
    right = History(
        "/r/", OUTLIVED, lists, [Watching(100, 104, told), Watching(103, 104, told[3:])]
    )
    assert behind(right, LEFT, {A: 103}) == []
    stale = History("/r/", OUTLIVED, [Listing(5.1, 5.2, 103, {A: 102})])
    assert behind(stale, LEFT, {A: 103}) != []
    missing = History("/r/", OUTLIVED, [], [Watching(100, 104, told[:3])])
    assert behind(missing, LEFT, {A: 103}) != []
