"""What pure functions said of JSON values, kept by what the values say.

One memo serves all servers of a process: they come and go with tests, and their definitions are
the same every time. Keys are digests, so that no value is kept alive.
"""

import threading
from hashlib import blake2b
from typing import Any, Generic, TypeVar

import orjson

T = TypeVar("T")
_DIGEST = 16  # bytes: no two values of one process ever share 128 bits


class Memo(Generic[T]):
    """Results by digest; the oldest are forgotten when there are more than `limit`."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._made: dict[bytes, T] = {}
        self._lock = threading.Lock()  # servers may run in several threads

    @staticmethod
    def key(value: Any, *beside: object) -> bytes:
        """The digest of a JSON value, its order included, and of what else decides the result."""
        try:
            text = orjson.dumps(value)
        except TypeError:  # an integer beyond 64 bits
            text = repr(value).encode()
        digest = blake2b(text, digest_size=_DIGEST)
        digest.update(repr(beside).encode())
        return digest.digest()

    def get(self, key: bytes) -> T | None:
        """The result, if it is known."""
        return self._made.get(key)

    def put(self, key: bytes, result: T) -> None:
        """Remember a result."""
        with self._lock:
            self._made[key] = result
            while len(self._made) > self.limit:
                del self._made[next(iter(self._made))]
