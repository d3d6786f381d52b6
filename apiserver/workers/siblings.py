"""The exchange of metrics between workers, over Unix sockets in a private folder.

A worker sends its metrics to each connection that asks for them, and closes it. A worker that does
not answer in time is left out, so a worker that hangs delays a response by at most SECONDS.
"""

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import orjson

from inkube.apiserver.workers.member import Worker

logger = logging.getLogger(__name__)

Figures = dict[str, Any]
SECONDS = 1.0
_READ, _RESET = b"r", b"d"
"""What another worker wants: the metrics, or the metrics and their reset."""


class Source(Protocol):
    """Returns the metrics of this worker; see `discovery.Endpoints.figures`."""

    def __call__(self, *, resets: bool) -> Figures:
        """Return the metrics; with `resets`, they begin again."""
        ...


class Siblings:
    """The other workers, and the metrics that they receive from this one."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._server: asyncio.Server | None = None

    async def start(self, figures: "Source") -> None:
        """Send the metrics of this worker to the others that connect. Raises OSError."""
        path = self._path(self._worker.number)
        path.unlink(missing_ok=True)  # the socket of an earlier worker with this number
        self._server = await asyncio.start_unix_server(partial(_serve_figures, figures), path)

    def close(self) -> None:
        """Stop sending metrics. A worker that asks and hangs delays nothing."""
        if self._server is not None:
            self._server.close()

    async def fetch(self, *, resets: bool = False) -> Sequence[Figures]:
        """Return the metrics of every other worker that responds. With `resets`, theirs begin again
        after that."""
        numbers = range(1, self._worker.count + 1)
        others = [number for number in numbers if number != self._worker.number]
        found = await asyncio.gather(*(self._of(number, resets) for number in others))
        return [figures for figures in found if figures is not None]

    async def _of(self, number: int, resets: bool) -> Figures | None:
        try:
            async with asyncio.timeout(SECONDS):
                reader, writer = await asyncio.open_unix_connection(self._path(number))
                with contextlib.closing(writer):
                    writer.write(_RESET if resets else _READ)
                    figures: Figures = orjson.loads(await reader.read())
                    return figures
        except (OSError, TimeoutError, ValueError) as error:
            logger.warning("worker %d does not tell its figures: %r", number, error)
            return None

    def _path(self, number: int) -> Path:
        return self._worker.folder / f"{number}.sock"


async def _serve_figures(
    figures: "Source", reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    with contextlib.closing(writer), contextlib.suppress(OSError):
        command = await reader.read(1)
        writer.write(orjson.dumps(figures(resets=command == _RESET)))
        await writer.drain()
