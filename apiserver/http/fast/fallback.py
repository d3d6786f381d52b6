"""The switch from this loop to aiohttp's own after an error in the loop itself.

An error in a callback shows that the loop does not fit its environment: a changed aiohttp, another
event loop, a library that replaces methods. This concerns all servers of the process, so they share
one `Fallback`. Errors of handlers are responses, and never count here.
"""

import logging

logger = logging.getLogger(__name__)


class Fallback:
    """Whether new connections use aiohttp's own loop."""

    def __init__(self) -> None:
        self.is_on = False

    def switch(self, reason: str) -> None:
        """Use aiohttp's own loop for all new connections of the process. Logs the first reason."""
        if not self.is_on:
            self.is_on = True
            logger.warning("new connections use aiohttp's own loop: %s", reason)


FALLBACK = Fallback()
"""That of the process."""
