"""Programs: expressions ready to run, any number of times, on plain JSON values."""

import logging
from collections.abc import Callable, Container, Mapping
from typing import Any

from inkube.schemas.cel.checking.checker import check
from inkube.schemas.cel.declarations.environment import Environment
from inkube.schemas.cel.declarations.functions import CelError, CostExceededError, EvalError
from inkube.schemas.cel.declarations.types import Type
from inkube.schemas.cel.language import ast
from inkube.schemas.cel.language.ast import Ident, Node, Select
from inkube.schemas.cel.language.parser import parse
from inkube.schemas.cel.language.source import Source
from inkube.schemas.cel.running import compiler, control_flow, runtime_types
from inkube.schemas.cel.running.writer import FunctionWriter, Module
from inkube.schemas.golang import gotext
from inkube.schemas.lazyproperty import cached_property

logger = logging.getLogger(__name__)
CALL_LIMIT = 1_000_000
"""The cost limit of one evaluation (Kubernetes' PerCallLimit)."""

_Run = Callable[..., tuple[Any, int]]


class ProgramError(CelError):
    """A checked expression does not compile: a constant is not a valid pattern or number."""


class Checked:
    """A parsed and checked expression."""

    def __init__(self, source: Source, root: Node, result_type: Type) -> None:
        self.source = source
        self.root = root
        self.type = result_type

    def uses(self, name: str) -> bool:
        """Return whether the expression uses a variable with this name."""
        return any(isinstance(node, Ident) and node.name == name for node in ast.walk(self.root))

    def selects(self, variable: str, field: str) -> bool:
        """Return whether the expression selects a field of a variable."""
        return any(
            isinstance(node, Select)
            and node.field == field
            and isinstance(node.operand, Ident)
            and node.operand.name == variable
            for node in ast.walk(self.root)
        )


def checked(text: str, environment: Environment) -> Checked:
    """Parse and check. Raises CompileError."""
    source, root = parse(text, binds=environment.binds)
    return Checked(source, root, check(source, root, environment))


class Program:
    """A compiled expression: its Python source is created with it, and compiled at its first run.

    Raises ProgramError if it cannot be prepared. Checking only this does not run the compiler of
    Python. Variables in `missing` can have the value MISSING: an evaluation that uses such a
    variable fails.
    """

    def __init__(
        self, expression: Checked, environment: Environment, missing: Container[str] = ()
    ) -> None:
        self.expression = expression
        self._missing = missing
        self.variables = tuple(environment.variables)
        self._module = Module()
        self.python = self._written(environment)

    @cached_property
    def run(self) -> _Run:
        """A function of the cost so far, the limit, and the variables in their order."""
        namespace = {**self._module.constants, **_NAMES}
        exec(compile(self.python, "<rule>", "exec"), namespace)  # noqa: S102  # see `writer`
        run: _Run = namespace["run"]
        return run

    def evaluate(self, variables: Mapping[str, Any], limit: int = CALL_LIMIT) -> Any:
        """Return the value of the expression. Raises EvalError, or CostExceededError above the
        limit."""
        try:
            values = [variables[name] for name in self.variables]
        except KeyError as missing:
            raise EvalError(f"no such attribute(s): {missing.args[0]}") from None
        return self.run(0, limit, *values)[0]

    def _written(self, environment: Environment) -> str:
        scope = compiler.shape_scope(list(environment.variables.items()), self._missing)
        writer = FunctionWriter(self._module, scope, compiler.translate)
        try:
            runtime_types.annotate(self.expression.root)
            with writer.payment():
                result = writer.value(self.expression.root)
        except EvalError as error:
            raise ProgramError(str(error)) from error
        except RecursionError:
            raise ProgramError("expression recursion limit exceeded: 250") from None
        names = [variable.name for variable in scope.values()]
        text = control_flow.function_text("run", names, writer, result, is_outer=True)
        return "\n\n\n".join([*self._module.functions, text])


def log_defect(error: EvalError, text: str) -> None:
    """Log the exception of Python behind an error, if there is one."""
    if error.__cause__ is not None:
        logger.error("the expression %s broke", gotext.quote(text), exc_info=error.__cause__)


def _recovered(error: Exception, cost: int) -> EvalError:
    """Return the EvalError for a defect of a function: any other exception of Python."""
    recovered = EvalError(f"internal error: {type(error).__name__}: {error}")
    recovered.cost = cost
    recovered.__cause__ = error
    return recovered


def _failed(error: Exception, cost: int) -> EvalError:
    """Return the EvalError to raise, with the cost until the error."""
    if isinstance(error, KeyError):
        error = EvalError(f"no such key: {error.args[0]}")
    elif not isinstance(error, EvalError):
        error = EvalError("expression recursion limit exceeded")
    error.cost = cost
    return error


_NAMES: dict[str, Any] = {
    "__builtins__": {"len": len, "enumerate": enumerate, "Exception": Exception},
    "errors": (EvalError, KeyError, RecursionError),
    "EvalError": EvalError,
    "exceeded": CostExceededError,
    "failed": _failed,
    "recovered": _recovered,
}
