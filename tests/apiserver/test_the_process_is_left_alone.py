"""A server embedded in a user's process does not change settings of the process.

These are the thresholds of garbage collection and the switch interval of threads.
"""

import gc
import sys

from inkube import APIServer


async def test_starts_writes_and_large_bodies_leave_the_collector_and_the_threads_alone(
    tmp_path, config_map, monkeypatch
):
    changed = []
    for module, name in (
        (gc, "disable"),
        (gc, "freeze"),
        (gc, "set_threshold"),
        (sys, "setswitchinterval"),
    ):
        monkeypatch.setattr(module, name, lambda *_, name=name: changed.append(name))
    for text in ("first", "then"):  # the second start reads the data of the first
        async with APIServer(data=tmp_path / "it") as server:
            await server.client.create(config_map(f"large-{text}", text=text * 50_000))
    assert changed == []
