"""A start reads the existing objects, for any order of keys and any history, some of it damaged."""

import asyncio
import itertools
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkube.storage import loading
from inkube.storage.columns import Columns
from inkube.storage.entry import Entry, EntryCodec
from inkube.storage.loading import Loading
from inkube.storage.log import FIRST_REVISION, Log, Record, Rows
from inkube.storage.sql import sqlite
from inkube.storage.sql.log import SqlLog


class Codec:
    """A codec for which values with a marker are damaged."""

    def encode(self, value, revision):
        raise NotImplementedError

    def decode(self, data):
        raise NotImplementedError

    def strip(self, value):
        raise NotImplementedError

    def is_sound(self, data, revision):
        return data != b"damaged"

    def are_sound(self, data, revisions):
        return all(map(self.is_sound, data, revisions))


def by_column(rows: list[tuple[int, str, int, bool, bytes, int]]) -> Rows:
    revisions, keys, created, deleted, data, compacted = zip(*rows, strict=True)
    gone = list(itertools.compress(revisions, deleted))
    return Rows(revisions, keys, created, gone, data, compacted)


STEPS = st.lists(
    st.tuples(st.sampled_from("abcdefgh"), st.sampled_from(["", "deleted", "damaged"]))
)


@settings(max_examples=200, deadline=None)
@given(STEPS, st.integers(1, 5), st.integers(1, 10))
def test_the_last_state_of_each_key_counts(
    steps: list[tuple[str, str]], page: int, least: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loading, "LEAST", least)
        begun = Loading(EntryCodec(Codec(), 0))
        living: dict[str, tuple[str, int, int, bytes]] = {}
        rows = []
        for revision, (key, what) in enumerate(steps, 101):
            data = b"damaged" if what == "damaged" else b"" if what else b"%d" % revision
            rows.append((revision, key, revision - 1, what == "deleted", data, 100))
            living[key] = key, revision, revision - 1, data
            if what == "deleted":
                del living[key]
        for start in range(0, len(rows), page):
            begun.add(by_column(rows[start : start + page]))
        found = begun.living()
    lived = [living[key] for key in sorted(living)]
    assert list(found.entries) == [each for each in lived if each[3] != b"damaged"]
    assert list(found.damaged) == [each[0] for each in lived if each[3] == b"damaged"]


def test_a_long_past_is_not_held_until_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "LEAST", 100)
    begun = Loading(EntryCodec(Codec(), 0))
    for revision in range(10_000):
        begun.add(Rows((revision,), ("a",), (0,), (), (b"x",), (0,)))
        assert len(begun) <= 100
    assert [entry.revision for entry in begun.living().entries] == [9_999]


DATA = st.one_of(st.just(b'{"a":"b"}'), st.binary(max_size=4), st.just(b"x" * (sqlite.JOINED + 1)))
KEYS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=3)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(KEYS, DATA, st.booleans()), max_size=12), st.integers(1, 5))
def test_rows_that_are_read_joined_are_those_that_are_read_one_by_one(
    steps: list[tuple[str, bytes, bool]], page: int
) -> None:
    async def read(log: Log) -> list[tuple[object, ...]]:
        found: list[tuple[object, ...]] = []
        revision = 0
        while True:
            rows = await log.rows(revision, page)
            gone = [each in rows.deleted for each in rows.revisions]
            found += zip(rows.revisions, rows.keys, rows.created, gone, rows.data, strict=True)
            assert set(rows.compacted) == {FIRST_REVISION}
            if len(rows.revisions) < page:
                return found
            revision = rows.revisions[-1]

    async def compare() -> None:
        with tempfile.TemporaryDirectory() as folder:
            log = sqlite.sqlite_log(f"{folder}/inkube.db")
            await log.open()
            try:
                if written:
                    async with log.begin() as transaction:
                        await transaction.append(written)
                joined = await read(log)
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(sqlite.SqliteConnection, "joined", one_by_one)
                    assert await read(log) == joined
            finally:
                await log.close()
        assert joined == [(each[0], each[1], each[3], each[4], each[5]) for each in written]

    async def one_by_one(*_: object) -> None:
        return None

    written = [
        Record(revision, key, 0, revision - 1, deleted, data, 0)
        for revision, (key, data, deleted) in enumerate(steps, FIRST_REVISION + 1)
    ]
    asyncio.run(compare())


async def test_rows_are_read_joined_where_they_are_short(tmp_path: Path) -> None:
    database = sqlite.SqliteDatabase(tmp_path / "inkube.db", sqlite.SqliteOptions())
    log = SqlLog(database)
    await log.open()
    records = [Record(n, f"/r/{n}", 0, n, False, b"{}", 0) for n in range(101, 111)]
    async with log.begin() as transaction:
        await transaction.append(records)
    connection = await database.connect()
    try:
        found = await connection.joined(100, 100)
        assert found is not None
        assert list(found.keys) == [each.key for each in records]
        assert await connection.joined(110, 100) is None, "there is nothing to join"
    finally:
        await connection.close()
        await log.close()


def test_parts_of_rows_are_all_of_them() -> None:
    rows = by_column([(n, f"{n}", n, n == 3, b"x", 100) for n in range(7)])
    parts = list(rows.parts(3))
    assert [list(part.revisions) for part in parts] == [[0, 1, 2], [3, 4, 5], [6]]
    assert [key for part in parts for key in part.keys] == list(rows.keys)
    assert [list(part.deleted) for part in parts] == [[], [3], []]


def test_objects_that_are_deleted_again_are_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "LEAST", 100)
    begun = Loading(EntryCodec(Codec(), 0))
    for revision in range(0, 10_000, 2):
        rows = [(revision, f"{revision}", revision, False, b"x", 0)]
        rows.append((revision + 1, f"{revision}", revision, True, b"x", 0))
        begun.add(by_column(rows))
        assert len(begun) <= 100
    assert not begun.living().entries


def test_columns_are_the_sequence_of_their_entries() -> None:
    entries = [Entry(f"/r/{n}", n + 10, n, b"%d" % n) for n in range(5)]
    columns = Columns(entries=entries)
    assert (list(columns), columns[2], columns[-1]) == (entries, entries[2], entries[-1])
    for low, high in itertools.product(range(-6, 7), repeat=2):
        assert columns[low:high] == entries[low:high]
    part = columns[1:3]
    part.replace(0, entries[4])
    part.delete(1)
    assert part == [entries[4]]
    assert columns == entries, "a part is a copy"
    assert columns == Columns(entries=entries)
    assert columns != columns[1:]
    assert columns != Columns(entries=[*entries[:4], entries[4]._replace(data=b"other")])
    with pytest.raises(IndexError):
        columns[5]
