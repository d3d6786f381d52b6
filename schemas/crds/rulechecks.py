"""Where the check of a schema's CEL rules plugs in.

What can be said of a rule without compiling it is in `rules`. `schemas.cel` reads this module, so
nothing here or above it may import that package but `cel_rules`, when it is called.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from inkube.schemas.fielderrors import FieldError

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Context:
    """What compiling a schema's rules needs to know beside the schema and its path."""

    errors: Sequence[FieldError] = ()
    """What is wrong otherwise: rules on a node with an error at or below it are not compiled."""
    unchanged: bool = False
    """The schema was accepted before: what a single rule costs is not held against it."""


@dataclass(frozen=True, slots=True)
class RuleCheck:
    """`compile(schema, path, context)` refuses rules; `run(schema, default, path)` tries them."""

    compile: Callable[[Object, str, Context], list[FieldError]]
    run: Callable[[Object, Any, str], list[FieldError]]


def cel_rules() -> RuleCheck:
    """The check itself."""
    from inkube.schemas.cel.rules.validation import RULE_CHECK

    return RULE_CHECK
