"""What a test pays for a server of its own: the fixture `kube`, from its start to its end.

Processor time of both threads, which a busy machine does not stretch; by the clock in the note.
"""

import statistics
import time
from collections.abc import Iterable
from dataclasses import replace

from benchmarks import figures
from benchmarks.figures import Figure
from inkube.apiserver.testing.kube import Plan, running
from inkube.apiserver.testing.thread import LoopThread

ROUNDS = 100
OBJECTS = 1_000
OBJECT = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}


def measure() -> Iterable[Figure]:
    """See the module."""
    with LoopThread() as thread:
        _round(thread)
        found = [_round(thread) for _ in range(ROUNDS)]
    wall = statistics.median(each[1] for each in found)
    note = f"{wall:.1f} ms by the clock; the test's own requests are not counted"
    worked = statistics.median(each[0] for each in found)
    yield Figure("a new server for a test", worked, "ms", at_most=5, note=note)
    with LoopThread() as thread:
        yield _forks(thread)


def _forks(thread: LoopThread) -> Figure:
    """What a test pays that begins with a state of a thousand objects."""
    with running(thread, Plan()) as kube:
        for number in range(OBJECTS):
            data = {"text": "x" * 400}
            kube.client.create({**OBJECT, "metadata": {"name": f"a-{number}"}, "data": data})
        kube.settled()
        found = []
        for _ in range(ROUNDS // 4):
            begun = _now()
            plan = Plan(replace(Plan().options, snapshot=kube.snapshot()))
            with running(thread, plan):
                ready = _now()
            found.append([(ready[each] - begun[each]) * 1000 for each in (0, 1)])
    worked, wall = (statistics.median(each[at] for each in found) for at in (0, 1))
    note = f"{wall:.1f} ms by the clock, the snapshot included"
    return Figure(f"a fork of {OBJECTS:,} objects", worked, "ms", at_most=20, note=note)


def _round(thread: LoopThread) -> tuple[float, float]:
    """Milliseconds worked and waited around a test that leaves an object behind."""
    started = _now()
    with running(thread, Plan()) as kube:
        ready = _now()
        kube.client.create(OBJECT)
        done = _now()
    ended = _now()
    worked, waited = (
        (ended[each] - started[each] - done[each] + ready[each]) * 1000 for each in (0, 1)
    )
    return worked, waited


def _now() -> tuple[float, float]:
    return time.process_time(), time.perf_counter()


if __name__ == "__main__":
    figures.main(measure)
