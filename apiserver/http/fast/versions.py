"""The versions of aiohttp that `connections` was tested with."""

from typing import Final

TESTED: Final[dict[str, int]] = {"3.12": 15, "3.13": 5, "3.14": 5}
"""Minor versions, and the last patch of each with which `tests/apiserver/http` passed. With 3.11.0
some of these tests fail."""


def is_tested(version: str) -> bool:
    """Whether a version, such as 3.14.5, was tested. Alphas, betas and candidates never were."""
    minor, _, patch = version.rpartition(".")
    return patch.isdecimal() and int(patch) <= TESTED.get(minor, -1)
