"""Overloads: how a function is declared, evaluated and paid for.

A library module exports a tuple of `Overload`; the checker resolves calls among them, the compiler
calls `impl` with the arguments (the receiver first), the costs are asked at run time (`cost`) and
when a rule is admitted (`estimate`). Operators are functions with the names of cel-go
common/operators (`_+_`, `@in`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from inkube.schemas.cel.declarations.estimates import Argument, CallEstimate
from inkube.schemas.cel.declarations.types import Type

Impl = Callable[..., Any]
CostFunction = Callable[[tuple[Any, ...], Any], int]
"""(arguments, result) → cost. Called only when `impl` returned."""
EstimateFunction = Callable[[tuple[Argument, ...]], CallEstimate | None]
"""Arguments, receiver first → estimate; None means the default: cost 1, size unknown."""
Specialise = Callable[[Mapping[int, Any]], Impl | None]
"""Constant arguments by position → an implementation for them (it is still called with all
arguments), or None. Raises EvalError where no call could succeed: the program is then refused."""


class CelError(Exception):
    """Whatever the engine raises: compile errors, evaluation errors, an exceeded cost limit."""


class EvalError(CelError):
    """An evaluation failed: `no such key: x`, `division by zero`. Absorbed by `&&` and `||`.

    `cost` is what was spent up to it, once the error left the program.
    """

    cost = 0


class CostExceededError(CelError):
    """The cost limit was passed; nothing absorbs it."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature of a function.

    `params` includes the receiver as the first for `receiver=True`. `impl` gets values whose types
    match `params` (dyn arguments are matched at run time) and raises EvalError to fail; it never
    changes its arguments. `cost` is a number where it does not depend on the arguments.
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
