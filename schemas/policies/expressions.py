"""Single expressions of policies, compiled and checked for their required type."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from inkube.schemas.cel import (
    CALL_LIMIT,
    CelError,
    Checked,
    CompileError,
    Environment,
    EvalError,
    Program,
    ProgramError,
    Type,
    checked,
    log_defect,
    types,
)

CONDITION: Final = (types.BOOL,)
MESSAGE: Final = (types.STRING,)
ANNOTATION: Final = (types.STRING, types.NULL)
ANYTHING: Final[tuple[Type, ...]] = ()


_CONDITION_BUDGET: Final = 2_500_000
"""The cost limit of all matchConditions together (RuntimeCELCostBudgetMatchConditions)."""


class ExpressionError(Exception):
    """The expression is refused; `str()` is the detail of the field's error. `internal` tells that
    the error is an internal one: the program cannot be made."""

    def __init__(self, text: str, *, internal: bool = False) -> None:
        super().__init__(text)
        self.internal = internal


class OutOfBudgetError(CelError):
    """The expressions of one policy exceed their common cost limit."""

    def __init__(self) -> None:
        super().__init__(
            "validation failed due to running out of cost budget, no further validation rules will"
            " be run"
        )


@dataclass(slots=True)
class Budget:
    """The remaining cost budget of one request."""

    left: int = 10_000_000

    def spend(self, cost: int) -> None:
        """Subtract a cost. Raises OutOfBudgetError if the budget is exceeded."""
        self.left -= cost
        if self.left < 0:
            raise OutOfBudgetError


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression."""

    text: str
    program: Program
    results: set[object] = field(default_factory=set, compare=False)
    """The results so far, for the coverage of tests: True, False, and "a value" for others."""

    @property
    def type(self) -> Type:
        """The type of the result."""
        return self.program.expression.type

    def selects(self, variable: str, field: str) -> bool:
        """Return whether the expression reads `variable.field`, or asks whether it exists."""
        return self.program.expression.selects(variable, field)

    @property
    def runtime_type(self) -> Type:
        """The known type of the result at run time."""
        return self.program.expression.root.runtime_type

    def evaluate(self, values: Mapping[str, Any], budget: Budget) -> Any:
        """Return the value of the expression. Raises CelError with the text of upstream's
        evaluator."""
        program = self.program
        try:
            result, cost = program.run(0, CALL_LIMIT, *[values[name] for name in program.variables])
        except CelError as error:
            if isinstance(error, EvalError):
                log_defect(error, self.text)
                budget.spend(error.cost)
            raise
        budget.spend(cost)
        self.results.add(result if result.__class__ is bool else "a value")
        return result


def all_hold(conditions: Sequence[Expression], values: Mapping[str, Any], *, ignores: bool) -> bool:
    """Return whether all matchConditions of one webhook or policy are true, within one common
    budget.

    A false condition has priority over errors of others, except for an exceeded budget. With
    `ignores` (failurePolicy), errors count as false. Raises EvalError or OutOfBudgetError. Follows
    plugin/webhook/matchconditions/matcher.go.
    """
    budget, errors, fits = Budget(_CONDITION_BUDGET), dict[str, None](), True
    for condition in conditions:
        try:
            fits = condition.evaluate(values, budget) is True and fits
        except OutOfBudgetError:
            if ignores:
                return False
            raise
        except CelError as error:
            errors[resulted(condition, error)] = None
    if errors and fits and not ignores:
        raise EvalError(next(iter(errors)) if len(errors) == 1 else f"[{', '.join(errors)}]")
    return fits and not errors


def resulted(expression: Expression, error: CelError) -> str:
    """Upstream's text for an expression that failed."""
    if isinstance(error, OutOfBudgetError):
        return str(error)
    return f"expression '{expression.text}' resulted in error: {error}"


def compiled(text: str, environment: Environment, accepted: tuple[Type, ...]) -> Expression:
    """Compile an expression that has one of the wanted types. Raises ExpressionError."""
    try:
        expression = checked(text, environment)
    except CompileError as error:
        raise ExpressionError(f"compilation failed: {error}") from error
    _check_type(expression, accepted)
    try:
        return Expression(text, Program(expression, environment))
    except ProgramError as error:
        why = f"program instantiation failed: {error}"
        raise ExpressionError(why, internal=True) from error


def _check_type(expression: Checked, accepted: tuple[Type, ...]) -> None:
    if not accepted or expression.type in accepted:
        return
    names = [_name(choice) for choice in accepted]
    expected = names[0] if len(names) == 1 else f"one of [{' '.join(names)}]"
    raise ExpressionError(f"must evaluate to {expected} but got {_name(expression.type)}")


def _name(type: Type) -> str:
    """Return the text of cel-go's `Type.String`, which differs from the one in compile errors."""
    if type.params:
        return f"{type.name}({', '.join(map(_name, type.params))})"
    return type.name
