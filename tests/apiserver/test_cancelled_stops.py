"""A start or a stop that is cancelled, wherever it waits, leaves nothing open."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from leftovers import left, still_open
from patience import within

from inkube import APIServer

GRACE = 30.0


def place(task: asyncio.Task[Any]) -> tuple[str, ...]:
    """Return the lines at which the coroutines of a task wait, the outermost first."""

    def lines() -> Iterator[str]:
        each: Any = task.get_coro()
        while each is not None:
            frame = getattr(each, "cr_frame", None) or getattr(each, "gi_frame", None)
            if frame is not None:
                yield f"{frame.f_code.co_filename}:{frame.f_lineno}"
            each = getattr(each, "cr_await", None) or getattr(each, "gi_yieldfrom", None)

    return tuple(lines())


async def cancelled_at_a_new_place(task: asyncio.Task[Any], known: set[tuple[str, ...]]) -> bool:
    """Cancel a task where none was cancelled before, and wait for its end. Returns whether there
    was such a place."""
    async with within():
        while not task.done():
            await asyncio.sleep(0)
            if not task.done() and (here := place(task)) not in known:
                known.add(here)
                task.cancel()
                await asyncio.wait([task])
                return True
    return False


@pytest.fixture(params=["file", "workloads"])
def options(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    if request.param == "file":
        return {"data": tmp_path / "data.db"}
    return {"workloads": True, "tls": True}


async def test_a_start_leaves_nothing_wherever_it_is_cancelled(options: dict[str, Any]) -> None:
    known: set[tuple[str, ...]] = set()
    goes_on = True
    while goes_on:
        before = sorted(still_open())
        server = APIServer(**options)
        starting = asyncio.create_task(server.__aenter__())
        goes_on = await cancelled_at_a_new_place(starting, known)
        if not starting.cancelled():
            await server.stop()
        assert await left(before) == before, known
    assert len(known) > 5


async def test_a_stop_leaves_nothing_wherever_it_is_cancelled(options: dict[str, Any]) -> None:
    known: set[tuple[str, ...]] = set()
    goes_on = True
    while goes_on:
        before = sorted(still_open())
        server = await APIServer(**options).__aenter__()
        stopping = asyncio.create_task(server.stop(GRACE))
        goes_on = await cancelled_at_a_new_place(stopping, known)
        assert await left(before) == before, known


@pytest.mark.parametrize("method", ["__aenter__", "stop"])
async def test_nothing_is_left_by_what_is_cancelled_in_every_turn(
    options: dict[str, Any], method: str
) -> None:
    before = sorted(still_open())
    server = APIServer(**options)
    if method == "stop":
        await server.__aenter__()
    task = asyncio.create_task(getattr(server, method)())
    async with within():
        while not task.done():
            await asyncio.sleep(0)
            task.cancel()
    assert task.cancelled()
    assert await left(before) == before
