"""Semantic versions: semver, isSemver, compareTo, major and so on.

Upstream: apiserver pkg/cel/library/semverlib.go.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from inkube.schemas.cel.declarations import types
from inkube.schemas.cel.declarations.functions import EvalError, Overload
from inkube.schemas.cel.declarations.types import BOOL, INT, STRING, Type
from inkube.schemas.cel.library import costs
from inkube.schemas.cel.library.overloads import folded
from inkube.schemas.golang import semver


@dataclass(frozen=True, slots=True)
class SemverValue:
    """A version in an expression; build metadata does not count in comparisons."""

    cel_type: ClassVar[Type] = types.SEMVER
    version: semver.Version


def parse(text: str, normalize: bool = False) -> SemverValue:
    """`normalize` allows a leading v, missing parts and leading zeros. Raises EvalError."""
    try:
        return SemverValue(semver.parse(text, normalize=normalize))
    except ValueError as error:
        raise EvalError(str(error)) from None


def is_semver(text: str, normalize: bool = False) -> bool:
    """Whether `parse` would read it."""
    return semver.is_valid(text, normalize=normalize)


def _int64(number: int) -> int:
    """A uint64 as Go converts it."""
    return number - 2**64 if number >= 2**63 else number


def _comparing(function: str, id: str, result: Type, read: Callable[[int], Any]) -> Overload:
    return Overload(
        function,
        id,
        (types.SEMVER, types.SEMVER),
        result,
        lambda left, right: read(left.version.compare(right.version)),
        receiver=True,
        fails=False,
    )


def _part(function: str, id: str, read: Callable[[semver.Version], int]) -> Overload:
    return Overload(
        function,
        id,
        (types.SEMVER,),
        INT,
        lambda value: _int64(read(value.version)),
        receiver=True,
        fails=False,
    )


OVERLOADS: Final[tuple[Overload, ...]] = (
    Overload(
        "semver",
        "string_to_semver",
        (STRING,),
        types.SEMVER,
        parse,
        cost=costs.per_size(),
        estimate=costs.sized(),
        specialise=folded(parse),
    ),
    Overload(
        "semver",
        "string_bool_to_semver",
        (STRING, BOOL),
        types.SEMVER,
        parse,
        cost=costs.per_size(),
        estimate=costs.sized(),
        specialise=folded(parse, arity=2),
    ),
    Overload(
        "isSemver",
        "is_semver_string",
        (STRING,),
        BOOL,
        is_semver,
        cost=costs.per_size(),
        estimate=costs.sized(),
        fails=False,
    ),
    Overload(
        "isSemver",
        "is_semver_string_bool",
        (STRING, BOOL),
        BOOL,
        is_semver,
        cost=costs.per_size(),
        estimate=costs.sized(),
        fails=False,
    ),
    _comparing("isGreaterThan", "semver_is_greater_than", BOOL, lambda order: order > 0),
    _comparing("isLessThan", "semver_is_less_than", BOOL, lambda order: order < 0),
    _comparing("compareTo", "semver_compare_to", INT, lambda order: order),
    _part("major", "semver_major", lambda version: version.major),
    _part("minor", "semver_minor", lambda version: version.minor),
    _part("patch", "semver_patch", lambda version: version.patch),
)
