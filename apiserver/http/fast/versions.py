"""The versions of aiohttp that `connections` was tested with."""

from typing import Final

TESTED: Final = frozenset({"3.12.0", "3.12.15", "3.13.0", "3.13.5", "3.14.0", "3.14.4", "3.14.5"})
"""Each version with which `tests/apiserver/http` passed; no other one. A patch release can rename
what `connections` uses: 3.14.1 to 3.14.3 have other names for the pause of a long queue."""


def is_tested(version: str) -> bool:
    """Return whether this version, such as 3.14.5, was tested."""
    return version in TESTED
