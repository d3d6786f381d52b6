"""Random operations on a store, compared with a model of every revision."""

import asyncio
import tempfile
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from inkube.storage import errors
from inkube.storage.cache import CacheOptions
from inkube.storage.log import FIRST_REVISION, Log, MemoryLog, matches
from inkube.storage.sql.postgresql import postgresql_log
from inkube.storage.sql.sqlite import SqliteOptions, sqlite_log
from inkube.storage.store import Change, Codec, Store, StoreOptions, Subscription
from inkube.storage.writer import WriterOptions

T = TypeVar("T")
State = dict[str, tuple[int, int]]  # revision and value by key

KEYS = st.sampled_from([f"/r/{kind}/{name}" for kind in ("a", "a-b", "b") for name in "xyz"])
PREFIXES = st.sampled_from(["/", "/r/", "/r/a/", "/r/b/", "/r/a/x"])
VALUES = st.integers(0, 9)
STEPS = st.integers(0, 12)

# Small limits, so that every path is used: history and log, one group and many.
OPTIONS = StoreOptions(cache=CacheOptions(history=5, queue=10_000), writer=WriterOptions(group=2))


def part(state: State, prefix: str) -> State:
    return {key: state[key] for key in sorted(state) if matches(prefix, key)}


@dataclass
class Watch:
    """A subscription, and the state as its reader sees it."""

    subscription: Subscription
    believed: State
    told: list[int] = field(default_factory=list)

    def hear(self, change: Change) -> None:
        entry, before = change.entry, change.previous
        known = self.believed.get(entry.key)
        assert (before and (before.revision, before.value["v"])) == known
        assert (change.type == "ADDED") == (known is None)
        assert not self.told or change.revision > self.told[-1]
        self.told.append(change.revision)
        if change.type == "DELETED":
            del self.believed[entry.key]
        else:
            self.believed[entry.key] = (entry.revision, entry.value["v"])


class StoreMachine(RuleBasedStateMachine):
    """Rules are operations of clients; each compares its result with the model."""

    make_log: ClassVar[Any]
    make_place: ClassVar[Any]
    codec: ClassVar[Codec]

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory()
        memory = MemoryLog()
        place = type(self).make_place(Path(self.folder.name))
        self.log = lambda: type(self).make_log(memory, place)
        self.now: State = {}
        self.moments: dict[int, State] = {FIRST_REVISION: {}}
        self.compacted = self.revision = FIRST_REVISION
        self.watches: list[Watch] = []
        self.store = self.open()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(coroutine)

    def open(self) -> Store:
        return self.run(Store(self.log(), self.codec, OPTIONS).__aenter__())

    def teardown(self) -> None:
        self.run(self.store.close())
        self.runner.close()
        self.folder.cleanup()

    def happened(self, key: str, value: int | None) -> None:
        self.revision += 1
        if value is None:
            del self.now[key]
        else:
            self.now[key] = (self.revision, value)
        self.moments[self.revision] = dict(self.now)

    @rule(key=KEYS, value=VALUES)
    def create(self, key: str, value: int) -> None:
        if key in self.now:
            with pytest.raises(errors.AlreadyExists):
                self.run(self.store.create(key, {"v": value}))
        else:
            self.run(self.store.create(key, {"v": value}))
            self.happened(key, value)

    @rule(key=KEYS, value=VALUES, stale=st.booleans())
    def update(self, key: str, value: int, stale: bool) -> None:
        expected = self.now.get(key, (0, 0))[0] - stale
        if key not in self.now:
            with pytest.raises(errors.NotFound):
                self.run(self.store.update(key, {"v": value}, expected))
        elif stale:
            with pytest.raises(errors.Conflict):
                self.run(self.store.update(key, {"v": value}, expected))
        else:
            self.run(self.store.update(key, {"v": value}, expected))
            self.happened(key, value)

    @rule(key=KEYS)
    def delete(self, key: str) -> None:
        if key in self.now:
            self.run(self.store.delete(key, self.now[key][0]))
            self.happened(key, None)

    @rule(keys=st.lists(KEYS, max_size=6), value=VALUES)
    def create_together(self, keys: list[str], value: int) -> None:
        async def together() -> list[Any]:
            creates = [self.store.create(key, {"v": value}) for key in keys]
            return await asyncio.gather(*creates, return_exceptions=True)

        for key, outcome in zip(keys, self.run(together()), strict=True):
            assert isinstance(outcome, errors.AlreadyExists) == (key in self.now)
            if key not in self.now:
                self.happened(key, value)

    @rule(steps=STEPS)
    def compact(self, steps: int) -> None:
        revision = max(self.revision - steps, FIRST_REVISION)
        self.run(self.store.compact(revision))
        self.compacted = max(self.compacted, revision)

    @rule(steps=STEPS, prefix=PREFIXES)
    def list_the_past(self, steps: int, prefix: str) -> None:
        revision = max(self.revision - steps, FIRST_REVISION)
        if revision < self.compacted:
            with pytest.raises(errors.Compacted):
                self.run(self.store.page(prefix, revision=revision))
            return
        found = self.run(self.store.page(prefix, revision=revision)).entries
        listed = {entry.key: (entry.revision, entry.value["v"]) for entry in found}
        assert list(listed.items()) == list(part(self.moments[revision], prefix).items())

    @rule(steps=STEPS, prefix=PREFIXES, limit=st.integers(1, 4))
    def page_through_the_past(self, steps: int, prefix: str, limit: int) -> None:
        revision = max(self.revision - steps, self.compacted)
        expected = list(part(self.moments[revision], prefix))
        seen: list[str] = []
        remaining = 1
        while remaining:
            page = self.run(
                self.store.page(
                    prefix, limit=limit, after=seen[-1] if seen else "", revision=revision
                )
            )
            seen += [entry.key for entry in page.entries]
            remaining = page.remaining
            assert seen == expected[: len(seen)]
            assert remaining == len(expected) - len(seen)

    @rule(steps=STEPS, prefix=PREFIXES)
    def watch(self, steps: int, prefix: str) -> None:
        revision = max(self.revision - steps, FIRST_REVISION)
        if revision < self.compacted:
            with pytest.raises(errors.Compacted):
                self.store.subscribe(prefix, revision)
            return
        subscription = self.store.subscribe(prefix, revision)
        self.watches.append(Watch(subscription, part(self.moments[revision], prefix)))

    @precondition(lambda self: self.watches)
    @rule(data=st.data())
    def hear(self, data: st.DataObject) -> None:
        watch = data.draw(st.sampled_from(self.watches))
        try:
            while batch := self.run(watch.subscription.waiting()):
                for change in batch:
                    watch.hear(change)
        except errors.Compacted:
            # Its backlog was compacted before it was read, so it has to list again.
            self.watches.remove(watch)
            return
        assert watch.believed == part(self.now, watch.subscription.prefix)
        assert watch.subscription.revision == self.revision

    @rule()
    def restart(self) -> None:
        self.run(self.store.close())
        for watch in self.watches:
            assert self.run(watch.subscription.next_batch()) == []
        self.watches.clear()
        self.store = self.open()

    @invariant()
    def the_present_is_the_models(self) -> None:
        assert (self.store.revision, self.store.compacted) == (self.revision, self.compacted)
        listed = {e.key: (e.revision, e.value["v"]) for e in self.store.list("/")}
        assert list(listed.items()) == list(part(self.now, "/").items())


def memory(log: MemoryLog, place: Any) -> Log:
    return log


def sqlite(log: MemoryLog, place: Path) -> Log:
    return sqlite_log(place / "inkube.db", SqliteOptions(synchronous="NORMAL"))


def postgresql(log: MemoryLog, place: str) -> Log:
    return postgresql_log(place)


@pytest.mark.parametrize(("make_log", "examples"), [(memory, 60), (sqlite, 15), (postgresql, 4)])
def test_a_store_behaves_as_its_model(
    make_log: Any, examples: int, codec: Codec, request: pytest.FixtureRequest
):
    def make_place(folder: Path) -> Any:
        if make_log is not postgresql:
            return folder
        return asyncio.run(request.getfixturevalue("cluster").database())

    class Machine(StoreMachine):
        pass

    Machine.make_log = staticmethod(make_log)
    Machine.make_place = staticmethod(make_place)
    Machine.codec = codec
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
        ),
    )
