"""The Common Expression Language as Kubernetes speaks it: `cel.compile(text).evaluate({…})`.

Values are plain JSON values of Python (and the classes of `values` for what JSON lacks). Nothing
here does I/O or keeps state; a `Program` may be run from many threads.

    program = cel.compile("self.replicas <= 5", {"self": types.map_of(types.STRING, types.DYN)})
    program.evaluate({"self": {"replicas": 3}})

Errors: CompileError (its text is cel-go's), ProgramError, EvalError and CostExceededError, all of
them CelErrors.
"""

from collections.abc import Mapping

from inkube.schemas.cel.declarations.environment import Environment
from inkube.schemas.cel.declarations.functions import CelError, CostExceededError, EvalError
from inkube.schemas.cel.declarations.types import DYN, Shape, Type
from inkube.schemas.cel.language.source import CompileError, Issue
from inkube.schemas.cel.running.libraries import FUNCTIONS
from inkube.schemas.cel.running.program import CALL_LIMIT, Program, ProgramError, checked

__all__ = [
    "CALL_LIMIT", "CelError", "CompileError", "CostExceededError", "EvalError", "Issue", "Program",
    "ProgramError", "compile",
]  # fmt: skip


def compile(  # noqa: A001  # read as cel.compile
    text: str, variables: Mapping[str, Type | Shape] | None = None
) -> Program:
    """An expression over variables of the given types or shapes; `self` of any type by default.

    Raises CompileError where it does not parse or check, ProgramError where a constant in it is
    unusable.
    """
    declared = {"self": DYN} if variables is None else variables
    shapes = {
        name: known if isinstance(known, Shape) else Shape.of(known)
        for name, known in declared.items()
    }
    environment = Environment(FUNCTIONS, shapes)
    return Program(checked(text, environment), environment)
