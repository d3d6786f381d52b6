"""All functions of the reference's environment, by name.

Upstream: apiserver pkg/cel/environment/base.go.
"""

from inkube.schemas.cel import library
from inkube.schemas.cel.declarations.environment import functions
from inkube.schemas.cel.library import authorizer
from inkube.schemas.cel.running import operator_overloads, optionals

FUNCTIONS = functions(
    operator_overloads.OVERLOADS, optionals.OVERLOADS, library.OVERLOADS, authorizer.OVERLOADS
)
