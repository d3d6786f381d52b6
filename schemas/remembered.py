"""Caches of functions of texts that clients send: bounded by entries, and by characters.

A text may be as large as a body may be, so a number of entries bounds nothing by itself. Used by
whatever parses texts again and again; functions of what is built in take `functools.cache`.
"""

import functools
from collections.abc import Callable, Hashable
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])

CHARACTERS = 2**22


def remembered(
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
        return cast("Function", functools.update_wrapper(cached, make))

    return decorate
