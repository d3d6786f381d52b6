"""One set of fixtures for every backend; a test that takes `backend` runs on each."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from inkube.storage.log import Log, MemoryLog
from inkube.storage.sqlite import SqliteOptions, sqlite_log
from inkube.storage.store import Store, StoreOptions

Value = dict[str, Any]


class JSONCodec:
    """What the composition root would give: JSON with the revision in metadata."""

    def is_sound(self, data: bytes, revision: int) -> bool:
        return True

    def encode(self, value: Value, revision: int) -> bytes:
        if not revision:
            return json.dumps(value).encode()
        metadata = {**value.get("metadata", {}), "resourceVersion": str(revision)}
        return json.dumps({**value, "metadata": metadata}).encode()

    def decode(self, data: bytes) -> Value:
        value: Value = json.loads(data)
        return value


@dataclass
class Backend:
    """Opens stores on one log; opening again is what a restart does."""

    kind: str
    make_log: Callable[[], Log]
    opened: list[Store] = field(default_factory=list)

    async def open(self, **options: Any) -> Store:
        store = Store(self.make_log(), JSONCodec(), StoreOptions(**options))
        await store.__aenter__()
        self.opened.append(store)
        return store

    async def close(self) -> None:
        for store in self.opened:
            await store.close()


def make_backend(kind: str, folder: Path) -> Backend:
    if kind == "memory":
        log = MemoryLog()
        return Backend(kind, lambda: log)
    # The tests wait for no disk: what survives a power cut is SQLite's own business.
    options = SqliteOptions(synchronous="NORMAL")
    return Backend(kind, lambda: sqlite_log(folder / "inkube.db", options))


@pytest.fixture
def codec() -> JSONCodec:
    return JSONCodec()


@pytest.fixture(params=["memory", "sqlite"])
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    backend = make_backend(request.param, tmp_path)
    yield backend
    await backend.close()


@pytest.fixture
async def shared(tmp_path: Path) -> Any:
    """A backend on which two stores may be open at once."""
    backend = make_backend("sqlite", tmp_path)
    yield backend
    await backend.close()


@pytest.fixture
async def store(backend: Backend) -> Store:
    return await backend.open()
