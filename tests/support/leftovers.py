"""What is open in this process: sessions, transports, tasks, threads."""

import asyncio
import gc
import threading
from collections.abc import Iterator

import aiohttp
from patience import PATIENCE

TURNS = 10
"""Turns of the event loop until the last closed transport is gone."""

SECONDS = 5.0 * PATIENCE
"""The limit for the end of a thread."""


def still_open() -> Iterator[str]:
    """Yield each open session and transport, each task and each thread, without the daemons that
    libraries start once in a process."""
    gc.collect()
    for each in gc.get_objects():
        kind = type(each)
        if issubclass(kind, aiohttp.ClientSession):
            is_open = not each.closed
        else:
            is_open = issubclass(kind, asyncio.Transport) and not each.is_closing()
        if is_open:
            yield f"{kind.__name__} {id(each):x}"
    yield from (f"task {task.get_name()}" for task in asyncio.all_tasks())
    yield from (f"thread {each.name}" for each in threading.enumerate() if not each.daemon)


async def left(before: list[str]) -> list[str]:
    """Return what is open, after the turns in which the last closed transports go, and the end of
    threads that were told to end."""
    for each in threading.enumerate():
        if not each.daemon and f"thread {each.name}" not in before:
            each.join(SECONDS)
    for _ in range(TURNS):
        found = sorted(still_open())
        if found == before:
            break
        await asyncio.sleep(0)
    return found
