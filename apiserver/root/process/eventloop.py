"""The event loop of a server that is a process of its own."""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from typing import Any

run: Callable[[Coroutine[Any, Any, None]], None]
"""asyncio.run, on uvloop where it is installed, on Windows on winloop."""
try:
    if sys.platform == "win32":
        import winloop as uvloop
    else:
        import uvloop
except ImportError:
    run = asyncio.run
else:
    run = uvloop.run
