"""Named functions of the language's standard library on strings, bytes and collections.

Operators belong to the engine. Upstream: cel-go common/stdlib/standard.go.
"""

from collections.abc import Mapping
from typing import Any, Final

from inkube.schemas.cel.declarations.functions import EvalError, Impl, Overload
from inkube.schemas.cel.declarations.types import BOOL, BYTES, INT, LIST_T, MAP_KV, STRING, Type
from inkube.schemas.cel.library import costs
from inkube.schemas.golang import patterns


def matches(text: str, pattern: str) -> bool:
    """Return whether an RE2 pattern matches anywhere in the text."""
    try:
        return patterns.matcher(pattern)(text)
    except patterns.PatternError as error:
        raise EvalError(str(error)) from None


def _matcher(constants: Mapping[int, Any]) -> Impl | None:
    if 1 not in constants:
        return None
    try:
        patterns.matcher(constants[1])
    except patterns.PatternError as error:
        raise EvalError(str(error)) from None
    short = patterns.short_matcher(constants[1])
    if short is None:
        return matches
    quick, longest = short
    return lambda text, _: (
        bool(quick(text)) if len(text) <= longest else matches(text, constants[1])
    )


def _sizes() -> tuple[Overload, ...]:
    kinds: tuple[tuple[str, Type], ...] = (
        ("string", STRING),
        ("bytes", BYTES),
        ("list", LIST_T),
        ("map", MAP_KV),
    )
    return tuple(
        Overload(
            "size",
            f"{name}_size" if receiver else f"size_{name}",
            (kind,),
            INT,
            len,
            receiver=receiver,
            fails=False,
        )
        for name, kind in kinds
        for receiver in (False, True)
    )


def _comparing(function: str, id: str, impl: Impl) -> Overload:
    return Overload(
        function, id, (STRING, STRING), BOOL, impl,
        receiver=True, cost=costs.per_size(), estimate=costs.sized(index=1), fails=False,
    )  # fmt: skip


OVERLOADS: Final[tuple[Overload, ...]] = (
    *_sizes(),
    Overload(
        "contains",
        "contains_string",
        (STRING, STRING),
        BOOL,
        str.__contains__,
        receiver=True,
        cost=costs.product,
        estimate=costs.estimate_product,
        fails=False,
    ),
    _comparing("startsWith", "starts_with_string", str.startswith),
    _comparing("endsWith", "ends_with_string", str.endswith),
    Overload(
        "matches",
        "matches",
        (STRING, STRING),
        BOOL,
        matches,
        cost=costs.search,
        specialise=_matcher,
    ),
    Overload(
        "matches",
        "matches_string",
        (STRING, STRING),
        BOOL,
        matches,
        receiver=True,
        cost=costs.search,
        estimate=costs.estimate_search,
        specialise=_matcher,
    ),
)
