"""A process with a store on a shared log: questions are lines of JSON, so are answers.

    {"id": 1, "ask": "update", "key": "/r/a", "expected": 7, "tag": "x"}  →  {"id": 1, …}

Run as a program by `faults`, which kills it.
"""

import asyncio
import json
import logging
import sys
from collections.abc import Sequence
from typing import Any

from inkube.storage import errors
from inkube.storage.compaction import CompactionOptions
from inkube.storage.log import Log, MemoryLog
from inkube.storage.sql.postgresql import postgresql_log
from inkube.storage.sql.sqlite import sqlite_log
from inkube.storage.store import Entry, Store, StoreOptions

KEEP = StoreOptions(compaction=CompactionOptions(age=1e9, revisions=10**9))


class JSONCodec:
    """JSON with the revision beside the value."""

    def encode(self, value: dict[str, Any], revision: int) -> bytes:
        return json.dumps(value).encode()

    def is_sound(self, data: bytes, revision: int) -> bool:
        return True

    def are_sound(self, data: Sequence[bytes], revisions: Sequence[int]) -> bool:
        return True

    def decode(self, data: bytes) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(data)
        return value


def open_log(place: str) -> Log:
    """The log at a place: a URL, a file, or "memory"."""
    if place == "memory":
        return MemoryLog()
    return postgresql_log(place) if "://" in place else sqlite_log(place)


class Node:
    """Answers questions from a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def answer(self, question: dict[str, Any]) -> dict[str, Any]:
        """What is told for a question: an outcome, and what it found or made."""
        try:
            return {"outcome": "done", **await getattr(self, question["ask"])(question)}
        except errors.PreconditionError:
            return {"outcome": "refused"}
        except errors.StorageError as error:
            return {"outcome": "unknown", "why": str(error)}

    async def get(self, question: dict[str, Any]) -> dict[str, Any]:
        await self._store.current()
        entry = self._store.get(question["key"])
        return _told(entry) if entry is not None else {"revision": 0, "tag": ""}

    async def list(self, question: dict[str, Any]) -> dict[str, Any]:
        await self._store.current()
        items = {entry.key: entry.revision for entry in self._store.list(question["key"])}
        return {"revision": self._store.revision, "items": items}

    async def create(self, question: dict[str, Any]) -> dict[str, Any]:
        return _told(await self._store.create(question["key"], {"tag": question["tag"]}))

    async def update(self, question: dict[str, Any]) -> dict[str, Any]:
        value = {"tag": question["tag"]}
        return _told(await self._store.update(question["key"], value, question["expected"]))

    async def delete(self, question: dict[str, Any]) -> dict[str, Any]:
        return _told(await self._store.delete(question["key"], question["expected"]))

    async def changes(self, question: dict[str, Any]) -> dict[str, Any]:
        """Everything under a prefix after a revision, up to now."""
        await self._store.current()
        events, until = [], self._store.revision
        with self._store.subscribe(question["key"], question["after"]) as subscription:
            while batch := await subscription.waiting():
                events += [
                    (each.revision, each.entry.key, each.type, each.entry.value["tag"])
                    for each in batch
                    if each.revision <= until
                ]
        return {"events": events, "revision": until}


def _told(entry: Entry) -> dict[str, Any]:
    return {"revision": entry.revision, "tag": entry.value["tag"]}


async def main(place: str) -> None:
    """Answer until the input ends."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    tasks: set[asyncio.Task[None]] = set()
    async with Store(open_log(place), JSONCodec(), KEEP) as store:
        node = Node(store)

        async def serve(question: dict[str, Any]) -> None:
            answer = await node.answer(question)
            sys.stdout.write(json.dumps({"id": question["id"], **answer}) + "\n")
            sys.stdout.flush()

        print(json.dumps({"id": 0}), flush=True)
        async for line in reader:
            task = asyncio.create_task(serve(json.loads(line)))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        await asyncio.gather(*tasks)


if __name__ == "__main__":
    logging.disable()  # what fails is told with the answer, and faults make much of it
    asyncio.run(main(sys.argv[1]))
