"""The frames of watch events are encoded once for all watches of the same form, and few are
cached."""

import json
import sys

import pytest
from patience import within

from inkube.apiserver.watching import framecache
from inkube.apiserver.watching.framecache import FrameCache
from inkube.storage.entry import Change, Entry

MAPS = "/api/v1/namespaces/default/configmaps"
FORMS = (
    "application/json",
    "application/vnd.kubernetes.protobuf;stream=watch",
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
    "application/json;as=Table;g=meta.k8s.io;v=v1",
)
SIZE = 100_000


def change(revision):
    return Change("ADDED", Entry(f"/r/{revision}", revision, revision, b"{}"), None)


def memory_of(cache):
    """Return the memory of a cache in bytes, computed independently."""
    size = 0
    for made in cache._results.values():
        size += sys.getsizeof(made) + sys.getsizeof(made.forms)
        size += sum(map(sys.getsizeof, made.forms.values()))
    return size


def test_what_was_made_of_a_lost_change_is_not_used_for_another_with_its_revision():
    cache = FrameCache()
    lost, other = (
        Change("ADDED", Entry("/r/a", 107, 107, data), None) for data in (b"lost", b"other")
    )
    assert cache.get(lost, "json", lambda change: change.entry.data) == b"lost"
    assert cache.get(other, "json", lambda change: change.entry.data) == b"other"
    assert cache.get(lost, "json", lambda change: change.entry.data) == b"lost"


def test_the_frames_of_a_change_are_encoded_once():
    cache, made = FrameCache(), []

    def make(change):
        made.append(change.revision)
        return b"frame"

    assert cache.get(change(1), "json", make) is cache.get(change(1), "json", make)
    cache.get(change(1), "table", make)
    cache.get(change(2), "json", make)
    assert made == [1, 1, 2]


def test_empty_frames_are_cached_as_well():
    cache, results = FrameCache(), ["", "made twice"]
    for _ in range(2):
        assert cache.get(change(1), "selector", lambda _: results.pop(0)) == ""


def test_the_oldest_changes_are_forgotten_first():
    cache = FrameCache(10_000)
    for revision in range(100):
        for form in ("json", "protobuf", "table"):
            cache.get(change(revision), form, lambda _: bytes(1_000))
        assert cache.weight <= 10_000
        assert memory_of(cache) <= 10_000
    assert [*cache._results] == [98, 99]


@pytest.mark.parametrize("size", [10, 5_000, 20_000])
def test_a_frame_larger_than_the_bound_is_made_and_not_kept(size):
    cache = FrameCache(10_000)
    assert cache.get(change(1), "json", lambda _: bytes(size)) == bytes(size)
    assert cache.weight == (size + framecache.EACH if size < 10_000 else 0)


async def test_frames_of_large_objects_in_three_forms_stay_within_the_bound(
    server, session, config_map
):
    where = f"{MAPS}?watch=1&resourceVersion={server.store.revision}"
    watches = [await session.get(where, headers={"Accept": form}) for form in FORMS]
    cache = server.streams._frames
    weights = []
    for number in range(150):
        await server.client.create(config_map(f"c{number}", text="x" * SIZE))
        line = json.loads(await watches[2].content.readline())
        assert line["object"]["metadata"]["name"] == f"c{number}"
        weights.append(cache.weight)
        assert memory_of(cache) <= framecache.MAX_BYTES
        async with within():
            await watches[0].content.readuntil(b"\n")
            await watches[3].content.readuntil(b"\n")
            head = await watches[1].content.readexactly(4)
            await watches[1].content.readexactly(int.from_bytes(head, "big"))
    assert max(weights) <= framecache.MAX_BYTES
    assert 10 < len(cache._results) < 150, "the bound was reached"
    for watch in watches:
        watch.close()
