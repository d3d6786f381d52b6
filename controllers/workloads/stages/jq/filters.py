"""Filters: functions from a value to any number of outputs, and functions that combine filters."""

from collections.abc import Callable, Iterator
from typing import Any

from inkube.controllers.workloads.stages.jq.values import (
    STEPS,
    RunError,
    is_number,
    is_true,
    type_of,
)


class Scope:
    """The variables of one run, and its remaining steps."""

    __slots__ = ("remaining_steps", "variables")

    def __init__(self) -> None:
        self.variables: dict[str, Any] = {}
        self.remaining_steps = STEPS

    def spend(self, steps: int = 1) -> None:
        """Count steps. Raises RunError after more than STEPS."""
        self.remaining_steps -= steps
        if self.remaining_steps < 0:
            raise RunError(f"the query takes more than {STEPS} steps")


Filter = Callable[[Any, Scope], Iterator[Any]]


def identity(value: Any, scope: Scope) -> Iterator[Any]:
    """Yield the value itself, as the filter `.` does."""
    yield value


def constant_of(constant: Any) -> Filter:
    """Return a filter with a constant output."""

    def run(value: Any, scope: Scope) -> Iterator[Any]:
        yield constant

    return run


def variable_of(name: str) -> Filter:
    """Return the filter `$name`, which raises RunError if the variable is not defined."""

    def run(value: Any, scope: Scope) -> Iterator[Any]:
        if name not in scope.variables:
            raise RunError(f"{name} is not defined")
        yield scope.variables[name]

    return run


def member_of(name: str) -> Filter:
    """Return the filter `.name`, which yields the member of an object."""

    def run(value: Any, scope: Scope) -> Iterator[Any]:
        scope.spend()
        if value is None:
            yield None
        elif isinstance(value, dict):
            yield value.get(name)
        else:
            raise RunError(f"cannot index {type_of(value)} with {name!r}")

    return run


def each_of(value: Any, scope: Scope) -> Iterator[Any]:
    """Yield the items of an array, or the values of an object, as the filter `.[]` does."""
    if isinstance(value, dict):
        items: Any = value.values()
    elif isinstance(value, list):
        items = value
    else:
        raise RunError(f"cannot iterate over {type_of(value)}")
    for item in items:
        scope.spend()
        yield item


def recursed(value: Any, scope: Scope) -> Iterator[Any]:
    """Yield the value and all values inside it, as the filter `..` does."""
    scope.spend()
    yield value
    if isinstance(value, (dict, list)):
        for item in each_of(value, scope):
            yield from recursed(item, scope)


def piped(left: Filter, right: Filter) -> Filter:
    """Return the filter `left | right`, which gives each output of left to right."""

    def run(value: Any, scope: Scope) -> Iterator[Any]:
        for item in left(value, scope):
            scope.spend()
            yield from right(item, scope)

    return run


def joined(left: Filter, right: Filter) -> Filter:
    """Return the filter `left, right`, which yields the outputs of both."""

    def run(value: Any, scope: Scope) -> Iterator[Any]:
        yield from left(value, scope)
        yield from right(value, scope)

    return run


def quiet(inner: Filter) -> Filter:
    """Return the filter `inner?`: an error ends its outputs, except the error about
    too many steps."""

    def run(value: Any, scope: Scope) -> Iterator[Any]:
        try:
            yield from inner(value, scope)
        except RunError:
            if scope.remaining_steps < 0:
                raise

    return run


def alternative_to(left: Filter, right: Filter) -> Filter:
    """Return the filter `left // right`: the true outputs of left, or the outputs of right if left
    has no such output."""

    def run(value: Any, scope: Scope) -> Iterator[Any]:
        found = False
        for item in quiet(left)(value, scope):
            if is_true(item):
                found = True
                yield item
        if not found:
            yield from right(value, scope)

    return run


def logical(left: Filter, right: Filter, *, ends: bool) -> Filter:
    """Return the filter `left and right` or `left or right`. `ends` is the truth of left that
    decides without right."""

    def run(value: Any, scope: Scope) -> Iterator[Any]:
        for first in left(value, scope):
            if is_true(first) is ends:
                yield ends
            else:
                for second in right(value, scope):
                    yield is_true(second)

    return run


def binary(left: Filter, right: Filter, function: Callable[[Any, Any], Any]) -> Filter:
    """Return a filter that applies an operator to every pair of outputs."""

    def run(value: Any, scope: Scope) -> Iterator[Any]:
        for second in right(value, scope):
            for first in left(value, scope):
                scope.spend()
                yield function(first, second)

    return run


def indexed(inner: Filter, index: Filter) -> Filter:
    """Return the filter `found[index]`, for every pair of outputs."""

    def run(value: Any, scope: Scope) -> Iterator[Any]:
        for item in inner(value, scope):
            for key in index(value, scope):
                scope.spend()
                yield item_at(item, key)

    return run


def item_at(value: Any, key: Any) -> Any:
    """Return an item of an array or a member of an object, or None if it is missing. Raises
    RunError."""
    if value is None and (isinstance(key, str) or is_number(key)):
        return None
    if isinstance(value, dict) and isinstance(key, str):
        return value.get(key)
    if isinstance(value, list) and is_number(key):
        place = int(key)
        return value[place] if -len(value) <= place < len(value) else None
    raise RunError(f"cannot index {type_of(value)} with {type_of(key)}")


def sliced(inner: Filter, start: Filter | None, end: Filter | None) -> Filter:
    """Return the filter `found[start:end]`, for all outputs."""
    none = constant_of(None)

    def run(value: Any, scope: Scope) -> Iterator[Any]:
        for item in inner(value, scope):
            for first in (start or none)(value, scope):
                for last in (end or none)(value, scope):
                    if item is None:
                        yield None
                    elif isinstance(item, (str, list)):
                        yield item[_bound_of(first) : _bound_of(last)]
                    else:
                        raise RunError(f"cannot slice {type_of(item)}")

    return run


def _bound_of(value: Any) -> int | None:
    if value is None or is_number(value):
        return None if value is None else int(value)
    raise RunError("the bounds of a slice are numbers")


def bound_to(source: Filter, name: str, body: Filter) -> Filter:
    """Return the filter `source as $name | body`: the outputs of body for each output of source."""

    def run(value: Any, scope: Scope) -> Iterator[Any]:
        for item in source(value, scope):
            scope.spend()
            before = scope.variables
            for output in _with(scope, {**before, name: item}, body(value, scope)):
                scope.variables = before
                yield output
            scope.variables = before

    return run


def _with(scope: Scope, variables: dict[str, Any], outputs: Iterator[Any]) -> Iterator[Any]:
    """Yield the outputs, each computed with these variables."""
    while True:
        scope.variables = variables
        try:
            output = next(outputs)
        except StopIteration:
            return
        yield output


def collected(inner: Filter) -> Filter:
    """Return the filter `[inner]`, which collects all outputs in one array."""

    def run(value: Any, scope: Scope) -> Iterator[Any]:
        yield list(inner(value, scope))

    return run


def built(members: list[tuple[Filter, Filter]]) -> Filter:
    """Return the filter `{key: value, …}`, with one output for each combination of outputs."""

    def run(value: Any, scope: Scope) -> Iterator[Any]:
        made: list[dict[str, Any]] = [{}]
        for key, content in members:
            grown = []
            for one in made:
                for name in key(value, scope):
                    if not isinstance(name, str):
                        raise RunError(f"an object's key cannot be {type_of(name)}")
                    for item in content(value, scope):
                        scope.spend()
                        grown.append({**one, name: item})
            made = grown
        yield from made

    return run


def chosen(test: Filter, yes: Filter, no: Filter) -> Filter:
    """Return the filter `if test then yes else no end`, for each output of test."""

    def run(value: Any, scope: Scope) -> Iterator[Any]:
        for answer in test(value, scope):
            yield from (yes if is_true(answer) else no)(value, scope)

    return run
