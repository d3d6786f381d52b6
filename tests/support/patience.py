"""How long tests wait for what has to happen: one setting for all of them.

A test waits for an event or a revision, and its limit only says when it never will. So a limit is
generous, and `INKUBE_PATIENCE` multiplies every one of them, those of the fixtures and
of pytest-timeout included: `INKUBE_PATIENCE=4 make test-all` on a machine that has much else to do.
"""

import asyncio
import os
import time
from collections.abc import Callable, Iterator

PATIENCE = float(os.environ.get("INKUBE_PATIENCE", "1"))
"""What every limit is multiplied by."""
SECONDS = 60.0 * PATIENCE
"""What may take so long has not come to a stop, even where forty processes want the processor."""
KUBECTL = f"--timeout={SECONDS:.0f}s"
"""How long kubectl is to wait."""


def within(seconds: float = 60.0) -> asyncio.Timeout:
    """`async with within():` a block that has to come to its end in so many seconds, which are
    multiplied. Raises TimeoutError."""
    return asyncio.timeout(seconds * PATIENCE)


async def until(holds: Callable[[], object], seconds: float = 60.0) -> None:
    """Let the event loop go on until something holds. Raises TimeoutError."""
    async with within(seconds):
        while not holds():  # noqa: ASYNC110 # what is looked at tells nobody that it changed
            await asyncio.sleep(0.001)


def attempts(seconds: float = 60.0, pause: float = 0.02) -> Iterator[None]:
    """`for _ in attempts():` look at another process again and again; break when it is so.

    Raises TimeoutError after so many seconds, which are multiplied.
    """
    end = time.monotonic() + seconds * PATIENCE
    while time.monotonic() < end:
        yield
        time.sleep(pause)
    raise TimeoutError(f"it did not happen within {seconds * PATIENCE:.0f} s")


def crowding() -> float:
    """How many times longer work takes now than it would on an idle machine; 1 where it is idle.

    For figures that are wall-clock time by their nature, as those a browser takes of itself.
    """
    began, own = time.monotonic(), time.thread_time()
    while time.thread_time() - own < 0.05:
        pass
    return max(1.0, (time.monotonic() - began) / 0.05)
