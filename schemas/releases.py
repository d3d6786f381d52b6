"""The releases of Kubernetes that inkube can serve, and the parsing of their names.

Differences between minors are data with ranges (`1.33..1.35`, both included). Parts are created for
a minor, so code that serves a request does not look up the minor.
"""

import re
from typing import NamedTuple

_RELEASE = re.compile(r"v?1\.(\d+)(?:\.(\d+))?", re.ASCII)
_RANGE = re.compile(r"(?:1\.(\d+))?\.\.(?:1\.(\d+))?", re.ASCII)


class Release(NamedTuple):
    """Kubernetes 1.`minor`.`patch`."""

    minor: int
    patch: int

    def __str__(self) -> str:
        return f"v1.{self.minor}.{self.patch}"


RECORDED = (
    Release(31, 14),
    Release(32, 13),
    Release(33, 13),
    Release(34, 9),
    Release(35, 6),
    Release(36, 2),
)
"""The newest recorded patch of each minor, in ascending order."""
NEWEST = RECORDED[-1]


def parse(text: str) -> Release:
    """`1.33`, `1.33.5` or `v1.33.5`; "" is the newest. Raises ValueError, which lists the minors.

    Each minor has one behavior, that of its recorded patch. A patch in `text` only changes the
    version that the server reports.
    """
    if not text:
        return NEWEST
    match = _RELEASE.fullmatch(text)
    release = {each.minor: each for each in RECORDED}.get(int(match[1])) if match else None
    if match is None or release is None:
        minors = ", ".join(f"1.{each.minor}" for each in RECORDED)
        raise ValueError(f"{text!r} is not a supported version of Kubernetes; use one of {minors}")
    return release if match[2] is None else Release(release.minor, int(match[2]))


def holds(span: str, minor: int) -> bool:
    """Return whether a minor is in a range: `1.33..`, `..1.34` or `1.33..1.34`. Raises
    ValueError."""
    match = _RANGE.fullmatch(span)
    if match is None:
        raise ValueError(f"{span!r} is not a range of versions such as 1.33..1.35")
    first, last = match.groups()
    return int(first or 0) <= minor <= int(last or minor)
