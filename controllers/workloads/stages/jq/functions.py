"""The functions of jq that queries can call, by name and number of arguments."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from inkube.controllers.workloads.stages.jq.filters import (
    Filter,
    Scope,
    collected,
    each_of,
    item_at,
    piped,
    recursed,
)
from inkube.controllers.workloads.stages.jq.values import (
    RunError,
    added,
    as_whole,
    divided,
    equals,
    is_number,
    is_true,
    list_of,
    rank_of,
    string_of,
    text_of,
    type_of,
)
from inkube.formats import regexp


def _mapping(function: Callable[[Any], Any]) -> Callable[[], Filter]:

    def make() -> Filter:
        def run(value: Any, scope: Scope) -> Iterator[Any]:
            scope.spend()
            yield function(value)

        return run

    return make


def _with_argument(function: Callable[[Any, Any], Any]) -> Callable[[Filter], Filter]:

    def make(argument: Filter) -> Filter:
        def run(value: Any, scope: Scope) -> Iterator[Any]:
            for given in argument(value, scope):
                scope.spend()
                yield function(value, given)

        return run

    return make


def _select(test: Filter) -> Filter:
    def run(value: Any, scope: Scope) -> Iterator[Any]:
        for answer in test(value, scope):
            if is_true(answer):
                yield value

    return run


def _map(inner: Filter) -> Filter:
    return collected(piped(each_of, inner))


def _first(inner: Filter) -> Filter:
    def run(value: Any, scope: Scope) -> Iterator[Any]:
        for item in inner(value, scope):
            yield item
            return

    return run


def _last(inner: Filter) -> Filter:
    def run(value: Any, scope: Scope) -> Iterator[Any]:
        found = list(inner(value, scope))
        if found:
            yield found[-1]

    return run


def _any_or_all(combine: Callable[[Iterator[bool]], bool]) -> Callable[[Filter], Filter]:
    def make(test: Filter) -> Filter:
        def run(value: Any, scope: Scope) -> Iterator[Any]:
            yield combine(
                is_true(answer) for item in each_of(value, scope) for answer in test(item, scope)
            )

        return run

    return make


def _sort_by(inner: Filter) -> Filter:
    def run(value: Any, scope: Scope) -> Iterator[Any]:
        yield sorted(list_of(value), key=lambda item: [rank_of(key) for key in inner(item, scope)])

    return run


def _with_entries(inner: Filter) -> Filter:
    def run(value: Any, scope: Scope) -> Iterator[Any]:
        yield _from_entries(list(piped(each_of, inner)(_entries(value), scope)))

    return run


def _empty() -> Filter:
    def run(value: Any, scope: Scope) -> Iterator[Any]:
        return iter(())

    return run


def _error(message: Filter) -> Filter:
    def run(value: Any, scope: Scope) -> Iterator[Any]:
        for text in message(value, scope):
            raise RunError(text_of(text))
        return iter(())

    return run


def _length(value: Any) -> Any:
    if value is None:
        return 0
    if isinstance(value, bool):
        raise RunError("boolean has no length")
    return abs(value) if is_number(value) else len(value)


def _keys(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return sorted(value)
    return list(range(len(list_of(value))))


def _has(value: Any, key: Any) -> bool:
    if isinstance(value, dict) and isinstance(key, str):
        return key in value
    if isinstance(value, list) and is_number(key):
        return bool(0 <= key < len(value))
    raise RunError(f"cannot check whether {type_of(value)} has a key of {type_of(key)}")


def _index(value: Any, target: Any) -> int | None:
    if isinstance(value, str):
        at = value.find(string_of(target))
        return at if at >= 0 else None
    if value is None:
        return None
    items = list_of(value)
    if isinstance(target, list):
        for at in range(len(items) - len(target) + 1):
            if target and equals(items[at : at + len(target)], target):
                return at
        return None
    return next((at for at, item in enumerate(items) if equals(item, target)), None)


def _contains(value: Any, part: Any) -> bool:
    if isinstance(value, dict) and isinstance(part, dict):
        return all(key in value and _contains(value[key], part[key]) for key in part)
    if isinstance(value, list) and isinstance(part, list):
        return all(any(_contains(item, one) for item in value) for one in part)
    if isinstance(value, str) and isinstance(part, str):
        return part in value
    if type_of(value) != type_of(part):
        raise RunError(
            f"{type_of(value)} and {type_of(part)} cannot have their containment checked"
        )
    return equals(value, part)


def _number(value: Any) -> int | float:
    if is_number(value):
        return value  # type: ignore[no-any-return] # checked above
    try:
        return as_whole(float(string_of(value)))
    except ValueError as error:
        raise RunError(f"{value!r} is not a number") from error


def _test(value: Any, pattern: Any) -> bool:
    try:
        return regexp.compile(string_of(pattern)).matches(string_of(value))
    except regexp.RegexError as error:
        raise RunError(str(error)) from error


def _entries(value: Any) -> list[Any]:
    if not isinstance(value, dict):
        raise RunError(f"{type_of(value)} has no keys")
    return [{"key": key, "value": item} for key, item in value.items()]


def _from_entries(value: Any) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for entry in list_of(value):
        if not isinstance(entry, dict):
            raise RunError(f"cannot use {type_of(entry)} as an entry")
        key = entry.get("key", entry.get("name"))
        made[text_of(key)] = entry.get("value")
    return made


def _sum(value: Any) -> Any:
    total = None
    for item in list_of(value) if not isinstance(value, dict) else value.values():
        total = added(total, item)
    return total


def _unique(value: Any) -> list[Any]:
    found: list[Any] = []
    for item in sorted(list_of(value), key=rank_of):
        if not found or not equals(found[-1], item):
            found.append(item)
    return found


FUNCTIONS: dict[tuple[str, int], Callable[..., Filter]] = {
    ("not", 0): _mapping(lambda value: not is_true(value)),
    ("empty", 0): _empty,
    ("error", 1): _error,
    ("length", 0): _mapping(_length),
    ("keys", 0): _mapping(_keys),
    ("type", 0): _mapping(type_of),
    ("tostring", 0): _mapping(text_of),
    ("tonumber", 0): _mapping(_number),
    ("tojson", 0): _mapping(lambda value: json.dumps(value, separators=(",", ":"))),
    ("add", 0): _mapping(_sum),
    ("first", 0): _mapping(lambda value: item_at(list_of(value), 0)),
    ("last", 0): _mapping(lambda value: item_at(list_of(value), -1)),
    ("first", 1): _first,
    ("last", 1): _last,
    ("min", 0): _mapping(lambda value: min(list_of(value), key=rank_of, default=None)),
    ("max", 0): _mapping(lambda value: max(list_of(value), key=rank_of, default=None)),
    ("sort", 0): _mapping(lambda value: sorted(list_of(value), key=rank_of)),
    ("sort_by", 1): _sort_by,
    ("unique", 0): _mapping(_unique),
    ("reverse", 0): _mapping(lambda value: list_of(value)[::-1]),
    ("floor", 0): _mapping(lambda value: int(_number(value) // 1)),
    ("any", 0): _mapping(lambda value: any(is_true(item) for item in list_of(value))),
    ("all", 0): _mapping(lambda value: all(is_true(item) for item in list_of(value))),
    ("any", 1): _any_or_all(any),
    ("all", 1): _any_or_all(all),
    ("select", 1): _select,
    ("map", 1): _map,
    ("recurse", 0): lambda: recursed,
    ("values", 0): lambda: _select(_mapping(lambda value: value is not None)()),
    ("has", 1): _with_argument(_has),
    ("contains", 1): _with_argument(_contains),
    ("inside", 1): _with_argument(lambda value, whole: _contains(whole, value)),
    ("index", 1): _with_argument(_index),
    ("split", 1): _with_argument(lambda value, by: divided(string_of(value), string_of(by))),
    ("join", 1): _with_argument(
        lambda value, by: string_of(by).join(
            "" if item is None else text_of(item) for item in list_of(value)
        )
    ),
    ("test", 1): _with_argument(_test),
    ("startswith", 1): _with_argument(
        lambda value, head: string_of(value).startswith(string_of(head))
    ),
    ("endswith", 1): _with_argument(lambda value, tail: string_of(value).endswith(string_of(tail))),
    ("ltrimstr", 1): _with_argument(
        lambda value, head: value.removeprefix(string_of(head)) if isinstance(value, str) else value
    ),
    ("rtrimstr", 1): _with_argument(
        lambda value, tail: value.removesuffix(string_of(tail)) if isinstance(value, str) else value
    ),
    ("ascii_downcase", 0): _mapping(lambda value: string_of(value).lower()),
    ("ascii_upcase", 0): _mapping(lambda value: string_of(value).upper()),
    ("to_entries", 0): _mapping(_entries),
    ("from_entries", 0): _mapping(_from_entries),
    ("with_entries", 1): _with_entries,
}
