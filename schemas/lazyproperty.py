"""`functools.cached_property` without its lock.

Until Python 3.12 that lock is one for all instances: while one thread compiles a schema, another
that asks any other schema for the same property waits. Here two threads may both make the value;
both are the same, and the last one stays.
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class cached_property(Generic[T]):  # noqa: N801 # it stands where functools' stood
    """Made when first read, kept in the instance."""

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
        made = instance.__dict__[self._name] = self._make(instance)
        return made
