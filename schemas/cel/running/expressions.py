"""Single expressions over given variables, for callers without a schema."""

from collections.abc import Mapping

from inkube.schemas.cel.declarations.environment import Environment
from inkube.schemas.cel.declarations.types import DYN, Shape, Type
from inkube.schemas.cel.running.libraries import FUNCTIONS
from inkube.schemas.cel.running.program import Program, checked


def compile(  # noqa: A001  # read as cel.compile
    text: str, variables: Mapping[str, Type | Shape] | None = None
) -> Program:
    """Return the program of an expression with variables of the given types or shapes. By default,
    the only variable is `self` of any type.

    Raises CompileError if the expression is invalid, ProgramError if one of its constants cannot be
    used.
    """
    declared = {"self": DYN} if variables is None else variables
    shapes = {
        name: shape if isinstance(shape, Shape) else Shape.of(shape)
        for name, shape in declared.items()
    }
    environment = Environment(FUNCTIONS, shapes)
    return Program(checked(text, environment), environment)
