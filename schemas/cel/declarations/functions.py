"""Overloads: the declaration, implementation and costs of a function.

A library module exports a tuple of `Overload`. The checker resolves calls to them, and the compiled
code calls `impl` with the arguments (the receiver first). `cost` computes the cost at run time, and
`estimate` estimates it when a rule is validated. Operators are functions with the names of cel-go
common/operators (`_+_`, `@in`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from inkube.schemas.cel.declarations.estimates import Argument, CallEstimate
from inkube.schemas.cel.declarations.types import Type

NO_OVERLOAD: Final = "no such overload"
"""The error of a call for whose arguments a function has no overload."""

Impl = Callable[..., Any]
CostFunction = Callable[[tuple[Any, ...], Any], int]
"""(arguments, result) → cost. Called only after `impl` returned."""
EstimateFunction = Callable[[tuple[Argument, ...]], CallEstimate | None]
"""Arguments, receiver first → estimate; None means the default: cost 1, size unknown."""
Specialise = Callable[[Mapping[int, Any]], Impl | None]
"""Constant arguments by position → an implementation for them (which still gets all arguments), or
None. Raises EvalError if every call would fail; the program is then refused."""


class CelError(Exception):
    """The base of all errors of CEL: compile errors, evaluation errors, an exceeded cost limit."""


class EvalError(CelError):
    """An evaluation failed: `no such key: x`, `division by zero`. Absorbed by `&&` and `||`.

    `cost` is the cost up to the error, which is set when the error leaves the program.
    """

    cost = 0


class CostExceededError(CelError):
    """The cost limit was exceeded; no operator absorbs this error."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature of a function.

    `params` includes the receiver as the first for `receiver=True`. `impl` gets values whose types
    match `params` (dyn arguments are matched at run time) and raises EvalError to fail; it never
    changes its arguments. `cost` is a number if it does not depend on the arguments.
    `fails=False` promises that `impl` never raises.
    """

    function: str
    id: str
    params: tuple[Type, ...]
    result: Type
    impl: Impl
    receiver: bool = False
    cost: CostFunction | int = 1
    estimate: EstimateFunction | None = None
    specialise: Specialise | None = None
    fails: bool = True
