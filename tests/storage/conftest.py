"""One set of fixtures for every backend; a test that uses `backend` runs on each."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from inkube.storage.log import Log, MemoryLog
from inkube.storage.sql.postgresql import postgresql_log
from inkube.storage.sql.sqlite import SqliteOptions, sqlite_log
from inkube.storage.store import Store, StoreOptions

Value = dict[str, Any]


class JSONCodec:
    """The codec that the composition root would pass: JSON with the revision in metadata."""

    def is_sound(self, data: bytes, revision: int) -> bool:
        return True

    def are_sound(self, data: Sequence[bytes], revisions: Sequence[int]) -> bool:
        return True

    def encode(self, value: Value, revision: int) -> bytes:
        if not revision:
            return json.dumps(value).encode()
        metadata = {**value.get("metadata", {}), "resourceVersion": str(revision)}
        return json.dumps({**value, "metadata": metadata}).encode()

    def decode(self, data: bytes) -> Value:
        value: Value = json.loads(data)
        return value

    def strip(self, value: Value) -> bool:
        return bool(value.get("metadata", {}).pop("resourceVersion", None))


@dataclass
class Backend:
    """Opens stores on one log; opening again simulates a restart."""

    kind: str
    make_log: Callable[[], Log]
    place: str = ""
    opened: list[Store] = field(default_factory=list)

    async def open(self, **options: Any) -> Store:
        store = Store(self.make_log(), JSONCodec(), StoreOptions(**options))
        await store.__aenter__()
        self.opened.append(store)
        return store

    async def close(self) -> None:
        for store in self.opened:
            await store.close()


async def make_backend(request: pytest.FixtureRequest, kind: str) -> Backend:
    if kind == "memory":
        log = MemoryLog()
        return Backend(kind, lambda: log)
    if kind == "postgresql":
        url = await request.getfixturevalue("cluster").database()
        return Backend(kind, lambda: postgresql_log(url), url)
    # Tests do not wait for the disk, because they do not check that data survives a power failure.
    options = SqliteOptions(synchronous="NORMAL")
    path = request.getfixturevalue("tmp_path") / "inkube.db"
    return Backend(kind, lambda: sqlite_log(path, options), str(path))


@pytest.fixture
def codec() -> JSONCodec:
    return JSONCodec()


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
async def backend(request: pytest.FixtureRequest) -> Any:
    backend = await make_backend(request, request.param)
    yield backend
    await backend.close()


@pytest.fixture(params=["sqlite", "postgresql"])
async def shared(request: pytest.FixtureRequest) -> Any:
    """A backend on which several stores may be open at once."""
    backend = await make_backend(request, request.param)
    yield backend
    await backend.close()


@pytest.fixture
async def store(backend: Backend) -> Store:
    return await backend.open()
