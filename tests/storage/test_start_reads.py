"""What a start reads is what lives: any order of keys, any past, some of it damaged."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkube.storage import loading
from inkube.storage.columns import Columns
from inkube.storage.entry import Coder, Entry
from inkube.storage.loading import Loading
from inkube.storage.log import Rows


class Codec:
    """Damaged is what says so."""

    def encode(self, value, revision):
        raise NotImplementedError

    def decode(self, data):
        raise NotImplementedError

    def is_sound(self, data, revision):
        return data != b"damaged"

    def are_sound(self, data, revisions):
        return all(map(self.is_sound, data, revisions))


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
        begun = Loading(Coder(Codec(), 0))
        living: dict[str, tuple[str, int, int, bytes]] = {}
        rows = []
        for revision, (key, what) in enumerate(steps, 101):
            data = b"damaged" if what == "damaged" else b"" if what else b"%d" % revision
            rows.append((revision, key, revision - 1, what == "deleted", data, 100))
            living[key] = key, revision, revision - 1, data
            if what == "deleted":
                del living[key]
        for start in range(0, len(rows), page):
            begun.add(Rows(*zip(*rows[start : start + page], strict=True)))
        found = begun.living()
    lived = [living[key] for key in sorted(living)]
    assert list(found.entries) == [each for each in lived if each[3] != b"damaged"]
    assert list(found.damaged) == [each[0] for each in lived if each[3] == b"damaged"]


def test_a_long_past_is_not_held_until_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "LEAST", 100)
    begun = Loading(Coder(Codec(), 0))
    for revision in range(10_000):
        begun.add(Rows((revision,), ("a",), (0,), (False,), (b"x",), (0,)))
        assert len(begun) <= 100
    assert [entry.revision for entry in begun.living().entries] == [9_999]


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
