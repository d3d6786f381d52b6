"""Histories of many clients are linearizable, and nothing acknowledged is lost, whatever breaks.

A short version of what `python tests/support/faults.py --rounds 300` does.
"""

from functools import partial
from pathlib import Path
from typing import Any

import faults
import histories
import pytest
from histories import Event, Listing, Operation, Watching


async def test_one_store_in_memory_keeps_the_laws():
    async with faults.in_memory() as fleet:
        for _ in range(3):
            assert await fleet.faults_of(await fleet.play(_nothing, 0.2)) == []


async def test_two_processes_on_a_file_keep_the_laws_when_they_are_killed(tmp_path: Path):
    await _hold(str(tmp_path / "inkube.db"), 2, ["kill", "sleep", "kill"])


async def test_replicas_keep_the_laws_when_they_are_killed_and_connections_end(cluster: Any):
    await _hold(await cluster.database(), 3, ["kill", "cut", "sleep", "cut"], cluster)


async def test_replicas_keep_the_laws_when_the_database_restarts(own_cluster: Any):
    await _hold(await own_cluster.database(), 2, ["restart", "crash"], own_cluster)


async def _hold(place: str, nodes: int, causes: list[str], cluster: Any = None) -> None:
    async with faults.processes(place, nodes) as fleet:
        breaker = faults.Breaker(fleet, place, cluster)
        for name in causes:
            played = await fleet.play(partial(breaker.cause, name))
            assert await fleet.faults_of(played) == []
            assert any(each.outcome == "done" for each in played.history)


async def _nothing() -> None:
    pass


def create(asked: float, answered: float, revision: int, key: str = "/r/a") -> Operation:
    return Operation("create", key, asked, answered, 0, f"t{revision}", "done", revision)


def update(asked: float, answered: float, expected: int, revision: int) -> Operation:
    return Operation("update", "/r/a", asked, answered, expected, f"t{revision}", "done", revision)


def get(asked: float, answered: float, revision: int) -> Operation:
    return Operation("get", "/r/a", asked, answered, 0, f"t{revision}", "done", revision)


LOST = Operation("update", "/r/a", 2, expected=101, tag="t102")
LINEARIZABLE = {
    "one after the other": [create(0, 1, 101), get(2, 3, 101), update(4, 5, 101, 102)],
    "a read beside a write sees either": [create(0, 5, 101), get(1, 2, 0), get(3, 4, 101)],
    "a write without an answer happened": [create(0, 1, 101), LOST, get(3, 4, 102)],
    "a write without an answer happened late": [
        create(0, 1, 101), LOST, get(3, 4, 101), get(5, 6, 102),
    ],
    "a write without an answer never happened": [create(0, 1, 101), LOST, get(3, 4, 101)],
    "a refused write found another": [
        create(0, 1, 101), Operation("create", "/r/a", 2, 3, 0, "x", "refused"),
    ],
}  # fmt: skip
WRONG = {
    "a read is stale": [create(0, 1, 101), update(2, 3, 101, 102), get(4, 5, 101)],
    "an acknowledged write is lost": [create(0, 1, 101), get(2, 3, 0)],
    "reads go back": [create(0, 9, 101), get(1, 2, 101), get(3, 4, 0)],
    "two writes replace one state": [
        create(0, 1, 101), update(2, 5, 101, 102), update(3, 6, 101, 103),
    ],
    "a write is refused that fits": [Operation("create", "/r/a", 2, 3, 0, "x", "refused")],
    "a write without an answer is taken back": [
        create(0, 1, 101), LOST, get(3, 4, 102), get(5, 6, 101),
    ],
}  # fmt: skip


@pytest.mark.parametrize("history", LINEARIZABLE.values(), ids=LINEARIZABLE)
def test_a_linearizable_history_is_recognized(history: list[Operation]):
    assert histories.judge(history) == []


@pytest.mark.parametrize("history", WRONG.values(), ids=WRONG)
def test_a_history_that_no_order_explains_is_recognized(history: list[Operation]):
    assert histories.judge(history) != []


LOG = [Event(101, "/r/a", "ADDED", "t101"), Event(102, "/r/b", "ADDED", "t102"),
       Event(103, "/r/a", "DELETED", "t103")]  # fmt: skip


def test_what_is_as_in_the_log_is_recognized():
    history = [create(0, 1, 101), create(2, 3, 102, "/r/b")]
    lists = [Listing(4, 5, 102, {"/r/a": 101, "/r/b": 102}), Listing(6, 7, 103, {"/r/b": 102})]
    assert histories.compare(history, lists, [Watching("/r/", 101, LOG[1:])], LOG) == []


@pytest.mark.parametrize(
    ("history", "lists", "watches", "log"),
    [
        ([create(0, 1, 104)], [], [], LOG),
        ([create(0, 1, 101)], [Listing(2, 3, 100, {})], [], LOG),
        ([], [Listing(2, 3, 102, {"/r/a": 101})], [], LOG),
        ([], [], [Watching("/r/", 100, [LOG[0], LOG[2]])], LOG),
        ([], [], [Watching("/r/", 100, [LOG[0], LOG[0], LOG[1]])], LOG),
        ([], [], [], [LOG[0], LOG[2]]),
    ],
    ids=["lost", "old list", "wrong list", "event missing", "event twice", "hole"],
)
def test_what_is_not_as_in_the_log_is_recognized(
    history: list[Operation], lists: list[Listing], watches: list[Watching], log: list[Event]
):
    assert histories.compare(history, lists, watches, log) != []
