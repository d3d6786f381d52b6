"""Semantic versions as blang/semver parses and orders them, with Kubernetes' normalization.

Errors are ValueError with upstream's texts. Follows blang/semver v4 semver.go; apiserver
pkg/cel/library/semverlib.go (normalizeAndParse).
"""

import re
from dataclasses import dataclass
from functools import total_ordering
from typing import Final

from inkube.schemas.golang import gotext, strconv

_NUMBER: Final = re.compile(r"[0-9]*", re.ASCII)
_WORD: Final = re.compile(r"[0-9A-Za-z-]*", re.ASCII)


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Version:
    """A version. `pre` contains ints and words. The order ignores build metadata."""

    major: int
    minor: int
    patch: int
    pre: tuple[int | str, ...] = ()
    build: tuple[str, ...] = ()

    def compare(self, other: "Version") -> int:
        """Return -1, 0 or 1. A pre-release precedes its release, numbers precede words."""
        mine, theirs = _key(self), _key(other)
        return (mine > theirs) - (mine < theirs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and _key(self) == _key(other)

    def __lt__(self, other: "Version") -> bool:
        return _key(self) < _key(other)

    def __hash__(self) -> int:
        return hash(_key(self))


def _key(version: Version) -> tuple[object, ...]:
    pre = tuple((0, part, "") if isinstance(part, int) else (1, 0, part) for part in version.pre)
    return version.major, version.minor, version.patch, not pre, pre


def parse(text: str, *, normalize: bool = False) -> Version:
    """`semver.Parse`; `normalize` allows a leading v, missing parts and leading zeros."""
    if normalize:
        text = _normalized(text)
    if not text:
        raise ValueError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise ValueError("No Major.Minor.Patch elements found")
    major, minor = _number(parts[0], "Major"), _number(parts[1], "Minor")
    rest, _, build = parts[2].partition("+")
    has_build = "+" in parts[2]
    patch, _, pre = rest.partition("-")
    return Version(
        major,
        minor,
        _number(patch, "Patch"),
        tuple(map(_pre_release, pre.split("."))) if "-" in rest else (),
        tuple(map(_build, build.split("."))) if has_build else (),
    )


def is_valid(text: str, *, normalize: bool = False) -> bool:
    """Return whether `parse` accepts the text."""
    try:
        parse(text, normalize=normalize)
    except ValueError:
        return False
    return True


def _normalized(text: str) -> str:
    parts = [_without_zeros(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3 and any(char in parts[-1] for char in "+-"):
        raise ValueError("short version cannot contain PreRelease/Build meta data")
    return ".".join(parts + ["0"] * (3 - len(parts)))


def _without_zeros(part: str) -> str:
    if len(part) < 2:
        return part
    part = part.lstrip("0")
    return part if part and part[0] in "0123456789" else "0" + part


def _number(text: str, name: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise ValueError(
            f"Invalid character(s) found in {name.lower()} number {gotext.quote(text)}"
        )
    if len(text) > 1 and text[0] == "0":
        raise ValueError(f"{name} number must not contain leading zeroes {gotext.quote(text)}")
    return strconv.parse_uint(text)


def _pre_release(text: str) -> int | str:
    if not text:
        raise ValueError("Prerelease is empty")
    if _NUMBER.fullmatch(text):
        if len(text) > 1 and text[0] == "0":
            raise ValueError(
                f"Numeric PreRelease version must not contain leading zeroes {gotext.quote(text)}"
            )
        return strconv.parse_uint(text)
    if not _WORD.fullmatch(text):
        raise ValueError(f"Invalid character(s) found in prerelease {gotext.quote(text)}")
    return text


def _build(text: str) -> str:
    if not text:
        raise ValueError("Build meta data is empty")
    if not _WORD.fullmatch(text):
        raise ValueError(f"Invalid character(s) found in build meta data {gotext.quote(text)}")
    return text
