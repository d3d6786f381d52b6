"""Semantic versions: semver, isSemver, compareTo, major and so on.

Upstream: apiserver pkg/cel/library/semverlib.go.
"""

from dataclasses import dataclass
from typing import ClassVar, Final

from inkube.schemas.cel.declarations import types
from inkube.schemas.cel.declarations.functions import EvalError, Overload
from inkube.schemas.cel.declarations.types import BOOL, INT, Type
from inkube.schemas.cel.library.overloads import method, question, reader
from inkube.schemas.golang import semver


@dataclass(frozen=True, slots=True)
class SemverValue:
    """A version in an expression. Comparisons ignore build metadata."""

    cel_type: ClassVar[Type] = types.SEMVER
    version: semver.Version


def parse(text: str, normalize: bool = False) -> SemverValue:
    """`normalize` allows a leading v, missing parts and leading zeros. Raises EvalError."""
    try:
        return SemverValue(semver.parse(text, normalize=normalize))
    except ValueError as error:
        raise EvalError(str(error)) from None


def is_semver(text: str, normalize: bool = False) -> bool:
    """Return whether `parse` accepts the text."""
    return semver.is_valid(text, normalize=normalize)


def _int64(number: int) -> int:
    """Convert a uint64 as Go does."""
    return number - 2**64 if number >= 2**63 else number


def _compare(left: SemverValue, right: SemverValue) -> int:
    return left.version.compare(right.version)


_SEMVER: Final = (types.SEMVER,)
_TWO: Final = (types.SEMVER, types.SEMVER)
OVERLOADS: Final[tuple[Overload, ...]] = (
    reader("semver", "string_to_semver", types.SEMVER, parse),
    reader("semver", "string_bool_to_semver", types.SEMVER, parse, BOOL),
    question("isSemver", "is_semver_string", is_semver),
    question("isSemver", "is_semver_string_bool", is_semver, BOOL),
    method("isGreaterThan", "semver_is_greater_than", _TWO, BOOL, lambda *two: _compare(*two) > 0),
    method("isLessThan", "semver_is_less_than", _TWO, BOOL, lambda *two: _compare(*two) < 0),
    method("compareTo", "semver_compare_to", _TWO, INT, _compare),
    method("major", "semver_major", _SEMVER, INT, lambda value: _int64(value.version.major)),
    method("minor", "semver_minor", _SEMVER, INT, lambda value: _int64(value.version.minor)),
    method("patch", "semver_patch", _SEMVER, INT, lambda value: _int64(value.version.patch)),
)
