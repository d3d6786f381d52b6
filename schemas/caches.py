"""All caches of the process. Declaring them here makes it possible to list, count and empty them.

All servers of a process share a cache: tests start and stop many servers, which make the same
lookups. This module does not include caches that belong to one object (`cached_property`, a
server's history) and have its lifetime.

    @caches.of_values(16)      functions of small values: built-in names, rows, short texts
    @caches.of_texts(4096)     functions of texts from clients: also bounded by characters
    MEMO = caches.Memo(…)      results of pure functions of JSON values, by digest
    TABLE = caches.Table(…)    results that depend on each other while they are computed
"""

import functools
import threading
from collections.abc import Callable, Hashable
from hashlib import blake2b
from typing import Any, Generic, NamedTuple, TypeVar, cast

import orjson

Function = TypeVar("Function", bound=Callable[..., Any])
K = TypeVar("K")
T = TypeVar("T")
CHARACTERS = 2**22
"""The default limit of characters: a text can be as large as a body, so a limit of entries alone
does not bound memory."""
_DIGEST = 16  # bytes: 128 bits make collisions within a process practically impossible


class Cache(NamedTuple):
    """An item in the list of caches; `bound` is its largest number of entries."""

    name: str
    bound: int
    entries: Callable[[], int]
    empty: Callable[[], None]


_DECLARED: list[Cache] = []


def every() -> list[Cache]:
    """Return all caches of modules that have been imported, by name."""
    return sorted(_DECLARED, key=lambda cache: cache.name)


def empty_all() -> None:
    """Empty all caches; later lookups compute their results again."""
    for cache in _DECLARED:
        cache.empty()


def of_values(entries: int, *, typed: bool = False) -> Callable[[Function], Function]:
    """`functools.lru_cache` that is in the list of caches."""

    def decorate(make: Function) -> Function:
        cached = functools.lru_cache(maxsize=entries, typed=typed)(make)
        return cast("Function", _declared(make, cached, entries))

    return decorate


def of_texts(
    entries: int, *, typed: bool = False, characters: int = CHARACTERS
) -> Callable[[Function], Function]:
    """`functools.lru_cache` of positional arguments that is emptied when the texts in arguments
    and results of misses exceed `characters` in total. Only misses have the cost of counting."""

    def decorate(make: Function) -> Function:
        spent = 0

        def missed(*args: Hashable) -> Any:
            nonlocal spent
            result = make(*args)
            for text in args:
                if isinstance(text, str):
                    spent += len(text)
            if isinstance(result, str):
                spent += len(result)
            if spent > characters:
                cached.cache_clear()
                spent = 0
            return result

        cached = functools.lru_cache(maxsize=entries, typed=typed)(missed)
        return cast("Function", _declared(make, functools.update_wrapper(cached, make), entries))

    return decorate


def _declared(make: Callable[..., Any], cached: Any, bound: int) -> Any:
    name = _name(make.__module__, make.__qualname__)
    _DECLARED.append(Cache(name, bound, lambda: cached.cache_info().currsize, cached.cache_clear))
    return cached


def _name(module: str, name: str) -> str:
    return f"{module.removeprefix('inkube.')}.{name}"


class Table(dict[K, T]):
    """Results by key, for functions that read and write the table themselves; `keep` bounds it."""

    def __init__(self, module: str, name: str, bound: int) -> None:
        super().__init__()
        self.bound = bound
        _DECLARED.append(Cache(_name(module, name), bound, self.__len__, self.clear))

    def keep(self, key: K, result: T) -> T:
        """Store a result and return it; a full table is emptied first."""
        if len(self) >= self.bound and key not in self:
            self.clear()
        self[key] = result
        return result


class Weighed(Table[K, T]):
    """A `Table` of results that can be large: before there are more than `bound`, or their weights
    exceed `most`, the oldest are dropped. `weigh` returns the weight of a result in bytes."""

    def __init__(
        self, module: str, name: str, bound: int, most: int, weigh: Callable[[K, T], int]
    ) -> None:
        super().__init__(module, name, bound)
        self.most = most
        self.weight = 0
        self._weigh = weigh
        self._lock = threading.Lock()  # servers may run in several threads

    def keep(self, key: K, result: T) -> T:
        """Store a result as the newest, and return it."""
        with self._lock:
            if key in self:
                self._drop(key)
            weight = self._weigh(key, result)
            while self and (len(self) >= self.bound or self.weight + weight > self.most):
                self._drop(next(iter(self)))
            self[key] = result
            self.weight += weight
        return result

    def find(self) -> Callable[[K], T | None]:
        """Return a function that returns a result, or None.

        If results could be dropped soon, those that it finds become the newest. Of a table that is
        read over and over, from the first to the last and from the last to the first, the part that
        fits is found each time.
        """
        return self._renewed if 2 * self.weight > self.most else self.get

    def _renewed(self, key: K) -> T | None:
        with self._lock:
            result = self.pop(key, None)
            if result is not None:
                self[key] = result
        return result

    def _drop(self, key: K) -> None:
        self.weight -= self._weigh(key, self.pop(key))

    def clear(self) -> None:
        """Remove all results."""
        with self._lock:
            super().clear()
            self.weight = 0


class Memo(Generic[T]):
    """Results by digest, so that the cache keeps no value alive. Drops the oldest results if it has
    more than `bound`."""

    def __init__(self, module: str, name: str, bound: int) -> None:
        self.bound = bound
        self._results: dict[bytes, T] = {}
        self._lock = threading.Lock()  # servers may run in several threads
        _DECLARED.append(
            Cache(_name(module, name), bound, self._results.__len__, self._results.clear)
        )

    @staticmethod
    def key(value: Any, *beside: object) -> bytes:
        """Return the digest of a JSON value, with the order of its members, and of all other
        inputs."""
        try:
            text = orjson.dumps(value)
        except TypeError:  # an integer beyond 64 bits
            text = repr(value).encode()
        digest = blake2b(text, digest_size=_DIGEST)
        digest.update(repr(beside).encode())
        return digest.digest()

    def get(self, key: bytes) -> T | None:
        """Return the stored result, or None."""
        return self._results.get(key)

    def put(self, key: bytes, result: T) -> None:
        """Store a result."""
        with self._lock:
            self._results[key] = result
            while len(self._results) > self.bound:
                del self._results[next(iter(self._results))]
