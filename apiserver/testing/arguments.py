"""Errors about the arguments of markers and public methods: the call, what is wrong, the fix.

They replace errors of Python about functions inside inkube, which a user has not called.
"""

import difflib
import functools
import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
_SHOWN = 60
"""The maximum number of characters of an argument in an error."""


class Kind(NamedTuple):
    """What a value has to be: in words, and as a check."""

    words: str
    holds: Callable[[Any], bool]


NUMBER = Kind("a number", lambda value: isinstance(value, int | float))
TEXT = Kind("a text", lambda value: isinstance(value, str))
MAPPING = Kind("a dict", lambda value: isinstance(value, Mapping))
CALLABLE = Kind("a function", callable)
COROUTINE = Kind("a coroutine, such as kube.server.client.list('v1/pods')", inspect.iscoroutine)
SOURCES = Kind(
    "files, folders and dicts",
    lambda value: all(isinstance(each, str | os.PathLike | Mapping) for each in value),
)


def checked(owner: str, **kinds: Kind) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator of a method of `owner`: arguments that the method does not take, or that
    are of another kind, raise a TypeError with the call. A traceback of pytest ends at the call."""

    def decorate(method: Callable[P, T]) -> Callable[P, T]:
        signature = inspect.signature(method)

        @functools.wraps(method)
        def call(*args: P.args, **options: P.kwargs) -> T:
            __tracebackhide__ = True
            name = f"{owner}.{method.__name__}"
            try:
                bound = signature.bind(*args, **options).arguments
            except TypeError:
                why = problem(method, args, options)
                raise TypeError(f"{written(name, args[1:], options)}: {why}") from None
            for each, kind in kinds.items():
                if each in bound and not kind.holds(bound[each]):
                    text = f"{each} must be {kind.words}"
                    raise TypeError(f"{written(name, args[1:], options)}: {text}")
            return method(*args, **options)

        return call

    return decorate


def written(name: str, args: Iterable[Any], options: Mapping[str, Any]) -> str:
    """Return a call as it is written in code, with long arguments cut."""
    named = [f"{each}={_short(value)}" for each, value in options.items()]
    return f"{name}({', '.join([*map(_short, args), *named])})"


def problem(function: Callable[..., Any], args: tuple[Any, ...], options: Mapping[str, Any]) -> str:
    """Return why a callable does not take the arguments, and what to write; "" if it takes them."""
    signature = inspect.signature(function)
    try:
        signature.bind(*args, **options)
    except TypeError as error:
        taken = [
            each for each in signature.parameters if each != "self" and not each.startswith("_")
        ]
        unknown = [name for name in options if name not in taken]
        if unknown:
            return f"there is no argument {unknown[0]!r}; {nearest(unknown[0], taken)}"
        for each in signature.parameters.values():
            is_named = each.kind is inspect.Parameter.KEYWORD_ONLY
            if is_named and each.default is each.empty and each.name not in options:
                return f"give {each.name!r} by its name: {each.name}=…"
        return f"{error}; the arguments are {', '.join(taken) or 'none'}"
    return ""


def nearest(name: str, names: Iterable[str]) -> str:
    """Return advice for an unknown name: the one that is most similar, or all."""
    known = sorted(names)
    near = difflib.get_close_matches(name, known, 1)
    return f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(known)}"


def _short(value: Any) -> str:
    text = getattr(value, "__name__", "") if callable(value) else ""
    text = text or repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
