"""The named functions of CEL in kube-apiserver's environment, one module for each library.

`OVERLOADS` contains all of them, and `of` returns those that a new expression can call in a minor.
Operators and optional values are part of the engine. As in kube-apiserver, there are no math and
encoder functions and no cel.bind. Upstream: apiserver pkg/cel/environment/base.go.
"""

from typing import Final

from inkube.schemas.cel.declarations.functions import Overload
from inkube.schemas.cel.library import (
    cidr,
    conversions,
    ext_lists,
    ip,
    lists,
    named_formats,
    quantity,
    regex,
    semver,
    sets,
    standard,
    strings,
    times,
    url,
)

_SINCE: Final[tuple[tuple[int, tuple[Overload, ...]], ...]] = (
    (0, standard.OVERLOADS),
    (0, conversions.OVERLOADS),
    (0, times.OVERLOADS),
    (0, url.OVERLOADS),
    (0, regex.OVERLOADS),
    (0, lists.OVERLOADS),
    (0, quantity.OVERLOADS),
    (0, strings.OVERLOADS),
    (0, sets.OVERLOADS),
    (30, ip.OVERLOADS),
    (30, cidr.OVERLOADS),
    (31, named_formats.OVERLOADS),
    (33, semver.OVERLOADS),
    (34, ext_lists.OVERLOADS),
)
"""The libraries, each with its first minor."""
OVERLOADS: Final[tuple[Overload, ...]] = tuple(
    overload for _, overloads in _SINCE for overload in overloads
)


def of(minor: int) -> tuple[Overload, ...]:
    """Return the functions for new expressions in a minor: the libraries of the minor before it."""
    return tuple(overload for since, overloads in _SINCE if since < minor for overload in overloads)
