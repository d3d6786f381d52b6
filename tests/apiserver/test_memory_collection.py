"""Garbage in cycles is collected when memory has grown, however few objects it takes."""

import gc
import weakref

from inkube.apiserver.root.collector import STEP, Collector


class Cycle:
    def __init__(self):
        self.itself = self


async def test_cycles_are_freed_once_memory_has_grown_by_a_step():
    resident = 10 * STEP
    with Collector(lambda: resident) as collector:
        young = weakref.ref(Cycle())
        collector.look()
        assert young() is not None, "nothing has grown"
        resident += STEP
        collector.look()
        assert young() is None


async def test_what_lived_long_is_freed_once_memory_has_doubled():
    resident = 10 * STEP
    with Collector(lambda: resident) as collector:
        kept = Cycle()
        old = weakref.ref(kept)
        resident += STEP
        collector.look()
        del kept
        resident += STEP
        collector.look()
        assert old() is not None, "it is looked at no more"
        resident *= 2
        collector.look()
        assert old() is None


async def test_the_collector_is_left_as_it_was():
    before = gc.get_threshold()
    with Collector(lambda: STEP):
        assert gc.get_threshold() != before
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)
