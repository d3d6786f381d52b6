"""Every cache of the process: all are declared here, so that they can be seen, counted and emptied.

One cache serves all servers of a process: they come and go with tests, and ask the same every
time. What belongs to one object (`cached_property`, a server's history) lives and goes with it and
is no business of this module.

    @caches.of_values(16)      functions of what is small: built-in names, rows, short texts
    @caches.of_texts(4096)     functions of texts of clients: bounded by characters, too
    MEMO = caches.Memo(…)      what pure functions said of JSON values, by digest
    TABLE = caches.Table(…)    results that need each other while they are made
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
"""A text may be as large as a body may be, so a number of entries bounds nothing by itself."""
_DIGEST = 16  # bytes: no two values of one process ever share 128 bits


class Cache(NamedTuple):
    """A cache as it is listed; `bound` is the most entries it ever has."""

    name: str
    bound: int
    entries: Callable[[], int]
    empty: Callable[[], None]


_DECLARED: list[Cache] = []


def every() -> list[Cache]:
    """All caches of modules that have been imported, by name."""
    return sorted(_DECLARED, key=lambda cache: cache.name)


def empty_all() -> None:
    """Forget everything; what is asked again is worked out again."""
    for cache in _DECLARED:
        cache.empty()


def of_values(entries: int, *, typed: bool = False) -> Callable[[Function], Function]:
    """`functools.lru_cache`, declared."""

    def decorate(make: Function) -> Function:
        cached = functools.lru_cache(maxsize=entries, typed=typed)(make)
        return cast("Function", _declared(make, cached, entries))

    return decorate


def of_texts(
    entries: int, *, typed: bool = False, characters: int = CHARACTERS
) -> Callable[[Function], Function]:
    """`functools.lru_cache` of positional arguments that forgets all once misses have brought in
    so many characters. Only misses pay for the counting."""

    def decorate(make: Function) -> Function:
        spent = 0

        def missed(*args: Hashable) -> Any:
            nonlocal spent
            made = make(*args)
            spent += sum(len(text) for text in (*args, made) if isinstance(text, str))
            if spent > characters:
                cached.cache_clear()
                spent = 0
            return made

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
    """Results by key, for functions that look up and fill in by themselves; `keep` bounds it."""

    def __init__(self, module: str, name: str, bound: int) -> None:
        super().__init__()
        self.bound = bound
        _DECLARED.append(Cache(_name(module, name), bound, self.__len__, self.clear))

    def keep(self, key: K, made: T) -> T:
        """Remember a result; all others are forgotten where there are as many as there may be."""
        if len(self) >= self.bound and key not in self:
            self.clear()
        self[key] = made
        return made


class Weighed(Table[K, T]):
    """A `Table` of what may be large: all are forgotten, too, where they weigh `most` together."""

    def __init__(self, module: str, name: str, bound: int, most: int) -> None:
        super().__init__(module, name, bound)
        self.most = most
        self.weight = 0

    def weigh(self, key: K, made: T, weight: int) -> T:
        """Remember a result of that weight, in bytes."""
        if self.weight + weight > self.most:
            self.clear()
        self.keep(key, made)
        self.weight += weight
        return made

    def clear(self) -> None:
        """Forget everything."""
        super().clear()
        self.weight = 0


class Memo(Generic[T]):
    """Results by digest, so that no value is kept alive; the oldest are forgotten when there are
    more than `bound`."""

    def __init__(self, module: str, name: str, bound: int) -> None:
        self.bound = bound
        self._made: dict[bytes, T] = {}
        self._lock = threading.Lock()  # servers may run in several threads
        _DECLARED.append(Cache(_name(module, name), bound, self._made.__len__, self._made.clear))

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
            while len(self._made) > self.bound:
                del self._made[next(iter(self._made))]
