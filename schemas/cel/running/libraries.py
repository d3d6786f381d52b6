"""All functions of the reference's environment, by name.

Upstream: apiserver pkg/cel/environment/base.go.
"""

from inkube.schemas import caches, releases
from inkube.schemas.cel import library
from inkube.schemas.cel.declarations.environment import Functions, functions
from inkube.schemas.cel.library import authorizer
from inkube.schemas.cel.running import operator_overloads, optionals

_ENGINE = (operator_overloads.OVERLOADS, optionals.OVERLOADS)
_PLAIN_WORDS = 32
"""The minor since which new expressions may name a field like a reserved word as it is."""
FUNCTIONS = functions(*_ENGINE, library.OVERLOADS, authorizer.OVERLOADS)


def restricted(minor: int) -> int | None:
    """The minor, or None for the newest minor, which has all functions."""
    return None if minor == releases.NEWEST.minor else minor


@caches.of_values(len(releases.RECORDED))
def of(minor: int | None) -> Functions:
    """The functions for new expressions in a minor: those of the minor before it, which makes a
    downgrade possible. None: all functions, which stored expressions can call."""
    if minor is None:
        return FUNCTIONS
    return functions(*_ENGINE, library.of(minor), authorizer.OVERLOADS)


@caches.of_values(len(releases.RECORDED))
def has_plain_words(minor: int | None) -> bool:
    """Whether `self.namespace` will do for `self.__namespace__` in new expressions of a minor."""
    return minor is None or minor >= _PLAIN_WORDS
