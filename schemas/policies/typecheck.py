"""Type warnings for a policy's expressions, from the schemas of the matched kinds.

Follows apiserver/pkg/admission/plugin/policy/validating/typechecking.go.
"""

from collections.abc import Iterable, Sequence

from inkube.schemas.cel import CompileError, Shape, checked, declare, types
from inkube.schemas.objects import Object
from inkube.schemas.policies.environment import Scope, any_params


def doubts(
    spec: Object, kinds: Sequence[tuple[str, Object]], params: Object | None
) -> list[Object]:
    """Return the ExpressionWarnings of a policy.

    `kinds` are names with schemas. `params` is the schema of the parameter: {} if it is unknown,
    None without a parameter.
    """
    shape = None if params is None else _shape(params, "params")
    scopes = [
        (name, _scope(spec.get("variables") or (), _shape(schema, "object"), shape))
        for name, schema in kinds
    ]
    warnings = []
    for index, validation in enumerate(spec.get("validations") or ()):
        for member in ("expression", "messageExpression"):
            text = validation.get(member)
            problems = [_problem(text, name, scope) for name, scope in scopes] if text else []
            if any(problems):
                place = f"spec.validations[{index}].{member}"
                warnings.append({"fieldRef": place, "warning": "".join(problems)})
    return warnings


def _shape(schema: Object, name: str) -> Shape:
    return declare(schema, name=f"kubernetes.{name}") or any_params()


def _scope(variables: Iterable[Object], target: Shape, params: Shape | None) -> Scope:
    """Return the scope of a policy with its variables; one that does not compile has the type
    dyn."""
    scope = Scope(target=target, params=params)
    for variable in variables:
        try:
            result_type = checked(variable["expression"], scope.environment()).type
        except CompileError:
            result_type = types.DYN
        scope.declare(variable["name"], result_type)
    return scope


def _problem(text: str, name: str, scope: Scope) -> str:
    try:
        checked(text, scope.environment())
    except CompileError as error:
        return f"{name}: {error}\n"
    return ""
