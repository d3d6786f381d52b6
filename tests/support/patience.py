"""The timeouts of all tests, with one setting for all of them.

A test waits for an event or a revision; its timeout only reports that it never came. So timeouts
are generous, and `INKUBE_PATIENCE` multiplies all of them, including those of the fixtures and of
pytest-timeout. On a busy machine: `INKUBE_PATIENCE=4 make test-all`.
"""

import asyncio
import os
import time
from collections.abc import Callable, Iterator

PATIENCE = float(os.environ.get("INKUBE_PATIENCE", "1"))
"""The factor for every timeout."""
SECONDS = 60.0 * PATIENCE
"""A timeout in seconds that suffices even if forty processes compete for the processor."""
KUBECTL = f"--timeout={SECONDS:.0f}s"
"""The timeout option for kubectl."""


def within(seconds: float = 60.0) -> asyncio.Timeout:
    """`async with within():` a timeout of so many seconds (multiplied) for a block. Raises
    TimeoutError."""
    return asyncio.timeout(seconds * PATIENCE)


async def until(holds: Callable[[], object], seconds: float = 60.0) -> None:
    """Run the event loop until a condition holds. Raises TimeoutError."""
    async with within(seconds):
        while not holds():  # noqa: ASYNC110 # what is looked at tells nobody that it changed
            await asyncio.sleep(0.001)


def attempts(seconds: float = 60.0, pause: float = 0.02) -> Iterator[None]:
    """`for _ in attempts():` check another process repeatedly; break on success. Raises
    TimeoutError after so many seconds (multiplied)."""
    end = time.monotonic() + seconds * PATIENCE
    while time.monotonic() < end:
        yield
        time.sleep(pause)
    raise TimeoutError(f"it did not happen within {seconds * PATIENCE:.0f} s")


def crowding() -> float:
    """Return how many times longer work takes now than on an idle machine; 1 if it is idle. For
    measurements that are wall-clock times by nature, such as those of a browser."""
    began, own = time.monotonic(), time.thread_time()
    while time.thread_time() - own < 0.05:
        pass
    return max(1.0, (time.monotonic() - began) / 0.05)
