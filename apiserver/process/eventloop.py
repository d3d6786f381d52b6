"""The event loop of `inkube serve`."""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from typing import Any

SWITCH = 0.001
"""Seconds until the event loop runs while another thread works."""
_run: Callable[[Coroutine[Any, Any, None]], None]
"""asyncio.run with the fastest installed event loop: uvloop, or winloop on Windows."""
try:
    if sys.platform == "win32":
        import winloop as uvloop
    else:
        import uvloop
except ImportError:
    _run = asyncio.run
else:
    _run = uvloop.run


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run a server to its end, in a process that contains nothing else."""
    sys.setswitchinterval(SWITCH)
    _run(main)
