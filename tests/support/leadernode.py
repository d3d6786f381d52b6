"""A server in its own process that takes part in leader election, controlled by lines on stdin.

Its only controller creates a ConfigMap again and again, with the name of the lease holder it works
for. With `freeze`, the process stops itself before the next of these writes reaches the log. The
results are printed as lines of JSON.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from inkube import APIServer
from inkube.apiserver.registry.transactions import to_the_end
from inkube.controllers.informer import Key
from inkube.controllers.manager import Controller, Result
from inkube.schemas.status import StatusError
from inkube.storage import Consent
from inkube.storage.writes import Write

PAUSE = 0.01


class Node:
    """See the module."""

    def __init__(self, server: APIServer) -> None:
        self._server = server
        self._holder = holder_of(server)
        self._freezes = False
        self._has_written = False
        self._commit = server.store.commit
        server.store.commit = self._committed  # type: ignore[method-assign] # the place to stop at
        feed = self._feed
        server.manager.add(Controller("writer", self._write, (), concurrency=1, sources=(feed,)))

    def command(self, line: str) -> None:
        """Execute a command: freeze, or freeze no more."""
        if line in ("freeze", "go on"):
            self._freezes = line == "freeze"

    def _feed(self, add: Any) -> Any:
        self._has_written = False
        tell(event="leads", holder=self._holder)
        add(Key("default", "writer"))
        return lambda: tell(event="rests", holder=self._holder)

    async def _write(self, key: Key) -> Result:
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"generateName": "written-", "namespace": "default"},
            "data": {"writer": self._holder},
        }
        await self._server.manager.client.create(body)
        if not self._has_written:
            self._has_written = True
            tell(event="wrote")
        return Result(requeue_after=PAUSE)

    async def _committed(self, batch: Sequence[Write], consent: Consent | None = None) -> Any:
        if not (self._freezes and any("/written-" in write.key for write in batch)):
            return await self._commit(batch, consent)
        self._freezes = False
        # the file must not stay locked
        async with self._server.store._writer._lock:
            pass
        tell(event="freezes")
        os.kill(os.getpid(), signal.SIGSTOP)
        # to the end, like transactions: cancelling a reconcile does not undo it
        return await to_the_end(self._commit_late(batch))

    async def _commit_late(self, batch: Sequence[Write]) -> Any:
        try:
            made = await self._commit(batch)
        except StatusError as error:
            tell(event="late", outcome=error.code, message=error.message)
            raise
        tell(event="late", outcome=201)
        return made


def holder_of(server: APIServer) -> str:
    """Return the holder as the Lease names it, if this server leads."""
    assert server.parts.leadership is not None, "others may write to the log"
    return server.parts.leadership.elector.identity


def tell(**what: Any) -> None:
    """Print one line."""
    print(json.dumps(what), flush=True)


async def main(place: str, duration: int) -> None:
    """Serve until the end of stdin."""
    where: dict[str, Any] = (
        {"database": place} if "://" in place else {"data": Path(place), "durable": False}
    )
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    # the test reads all writes at its end, which can come after the history that is kept otherwise
    options: dict[str, Any] = {"modules": "none", "keep_history": True, **where}
    async with APIServer(lease_duration=duration, **options) as server:
        tell(event="serves", holder=holder_of(server))
        node = Node(server)
        async for line in reader:
            node.command(line.decode().strip())


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
