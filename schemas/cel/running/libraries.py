"""All functions of kube-apiserver's environment, by name.

Upstream: apiserver pkg/cel/environment/base.go.
"""

from inkube.schemas import caches, releases
from inkube.schemas.cel import library
from inkube.schemas.cel.declarations.environment import Functions, functions
from inkube.schemas.cel.library import authorizer
from inkube.schemas.cel.running import operator_overloads, optionals

_ENGINE = (operator_overloads.OVERLOADS, optionals.OVERLOADS)
_PLAIN_WORDS = 32
"""The minor since which new expressions can use the name of a field that is a reserved word without
an escape."""
FUNCTIONS = functions(*_ENGINE, library.OVERLOADS, authorizer.OVERLOADS)


def restricted(minor: int) -> int | None:
    """Return the minor, or None for the newest minor, which has all functions."""
    return None if minor == releases.NEWEST.minor else minor


@caches.of_values(len(releases.RECORDED))
def of(minor: int | None) -> Functions:
    """Return the functions for new expressions in a minor: those of the minor before it, which
    makes a downgrade possible. None: all functions, which stored expressions can call."""
    if minor is None:
        return FUNCTIONS
    return functions(*_ENGINE, library.of(minor), authorizer.OVERLOADS)


@caches.of_values(len(releases.RECORDED))
def has_plain_words(minor: int | None) -> bool:
    """Return whether new expressions of a minor can use `self.namespace` instead of
    `self.__namespace__`."""
    return minor is None or minor >= _PLAIN_WORDS
