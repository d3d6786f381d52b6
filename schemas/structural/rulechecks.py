"""What a check of a schema's CEL rules looks like to those who call it.

The check itself is `schemas.cel.rules.validation`; `schemas.crds` loads it when a definition comes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from inkube.schemas.fielderrors import FieldError
from inkube.schemas.objects import Object


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
