"""The event loop of a server that is a process of its own."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

run: Callable[[Coroutine[Any, Any, None]], None]
"""asyncio.run, on uvloop where it is installed."""
try:
    import uvloop
except ImportError:
    run = asyncio.run
else:
    run = uvloop.run
