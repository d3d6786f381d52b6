"""`functools.cached_property` without its lock.

Until Python 3.12, all instances share that lock: while one thread compiles a schema, another
thread that reads the same property of another schema waits. Without a lock, two threads can both
compute the value. Both values are equal, and the last one is kept.
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class cached_property(Generic[T]):  # noqa: N801 # it stands where functools' stood
    """A property that is computed at the first access and kept in the instance."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> "cached_property[T]": ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._make(instance)
        return value
