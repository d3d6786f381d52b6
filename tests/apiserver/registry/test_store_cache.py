"""Values cached for stored objects are computed again after a change by any writer."""

from inkube.apiserver.registry.codec import JSONCodec
from inkube.apiserver.registry.storecache import StoreCache
from inkube.storage.sql.sqlite import sqlite_log
from inkube.storage.store import Store


def _names(store):
    return StoreCache(store, ("/a/", "/b/"), lambda: [e.key for e in store.list("/a/")])


async def test_a_cached_value_is_computed_again_only_after_a_change(tmp_path):
    async with Store(sqlite_log(tmp_path / "it.db"), JSONCodec()) as store:
        names = _names(store)
        assert names.value == []
        await store.create("/c/1", {"metadata": {}})
        before = names.value
        await store.create("/b/1", {"metadata": {}})
        assert names.value is not before
        await store.create("/a/1", {"metadata": {}})
        assert names.value == ["/a/1"]


async def test_changes_that_others_compacted_are_seen_all_the_same(tmp_path):
    path = tmp_path / "it.db"
    async with (
        Store(sqlite_log(path), JSONCodec()) as store,
        Store(sqlite_log(path), JSONCodec()) as other,
    ):
        names = _names(store)
        assert names.value == []
        created = await other.create("/a/1", {"metadata": {}})
        await other.delete(created.key, created.revision)
        await other.create("/a/2", {"metadata": {}})
        await other.compact(other.revision)
        await store.current()
        assert names.value == ["/a/2"]
        last = await other.create("/a/3", {"metadata": {}})
        await store.current()
        assert store.revision >= last.revision
        assert names.value == ["/a/2", "/a/3"]
