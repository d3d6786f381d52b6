"""The event loop of a server that is a process of its own."""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from typing import Any

SWITCH = 0.001
"""Seconds until the loop gets its turn while another thread works."""
_run: Callable[[Coroutine[Any, Any, None]], None]
"""asyncio.run, on uvloop where it is installed, on Windows on winloop."""
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
    """Run a server to its end, in a process that is its own."""
    sys.setswitchinterval(SWITCH)
    _run(main)
