"""All functions of the reference's environment, by name.

Upstream: apiserver pkg/cel/environment/base.go.
"""

from inkube.schemas.cel import operator_overloads, optionals
from inkube.schemas.cel.env import functions
from inkube.schemas.cel.library import (
    conversions,
    ext_lists,
    lists,
    regex,
    sets,
    standard,
    strings,
    times,
)  # fmt: skip

FUNCTIONS = functions(
    operator_overloads.OVERLOADS,
    optionals.OVERLOADS,
    standard.OVERLOADS,
    conversions.OVERLOADS,
    times.OVERLOADS,
    strings.OVERLOADS,
    sets.OVERLOADS,
    lists.OVERLOADS,
    ext_lists.OVERLOADS,
    regex.OVERLOADS,
)
