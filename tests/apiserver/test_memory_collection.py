"""Cyclic garbage is collected when memory has grown, even if it consists of few objects."""

import gc
import platform
import weakref

import pytest

from inkube.apiserver import process
from inkube.apiserver.process import collector as collector_module
from inkube.apiserver.process.collector import STEP, TRIM_BYTES, Collector


class Cycle:
    def __init__(self):
        self.itself = self


async def test_cycles_are_freed_once_memory_has_grown_by_a_step():
    resident = 10 * STEP
    with Collector(lambda: resident) as collector:
        young = weakref.ref(Cycle())
        collector.check()
        assert young() is not None, "nothing has grown"
        resident += STEP
        collector.check()
        assert young() is None


async def test_old_objects_are_freed_once_memory_has_doubled():
    resident = 10 * STEP
    with Collector(lambda: resident) as collector:
        kept = Cycle()
        old = weakref.ref(kept)
        resident += STEP
        collector.check()
        del kept
        resident += STEP
        collector.check()
        assert old() is not None, "it is looked at no more"
        resident *= 2
        collector.check()
        assert old() is None


async def test_the_collector_is_left_as_it_was():
    before = gc.get_threshold()
    with Collector(lambda: STEP):
        assert gc.get_threshold() != before
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)


async def test_what_the_c_library_keeps_is_given_back_where_a_server_is_large(monkeypatch):
    resident: int = TRIM_BYTES // 2
    given_back: list[int] = []
    monkeypatch.setattr(process.trimming, "trim", lambda: given_back.append(resident))
    with Collector(lambda: resident) as collector:
        collector.check()
        assert given_back == []
        resident = TRIM_BYTES
        collector.check()
        assert given_back == [TRIM_BYTES]


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc alone keeps holes")
def test_holes_between_what_lives_are_given_back():
    blocks = [bytes(1_000) for _ in range(100_000)]
    kept = blocks[::10]  # two in three pages lie between
    del blocks
    before = collector_module._resident()
    process.trimming.trim()
    assert collector_module._resident() < before - 20 * 2**20
    assert len(kept) == 10_000
