"""The execution of a ValidatingAdmissionPolicy.

Follows apiserver pkg/admission/plugin/policy/validating.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from inkube.schemas.cel import CelError, EvalError
from inkube.schemas.lazyproperty import cached_property
from inkube.schemas.objects import Object
from inkube.schemas.policies.environment import Scope, any_params
from inkube.schemas.policies.expressions import (
    ANNOTATION,
    ANYTHING,
    CONDITION,
    MESSAGE,
    Budget,
    Expression,
    OutOfBudgetError,
    all_hold,
    compiled,
    resulted,
)

Values = Mapping[str, Any]
_MOST_ANNOTATED = 10 * 1024
_LONGEST = 5 * 1024


@dataclass(frozen=True, slots=True)
class Denial:
    """The reason to refuse a request; `always`: independent of the binding's actions."""

    message: str
    reason: str = "Invalid"
    always: bool = False
    index: int = 0
    """The index of the failed validation in the policy."""


Annotate = Callable[[str, str], None]
"""Called with key and value of an audit annotation of a policy."""


@dataclass(frozen=True, slots=True)
class _Validation:
    condition: Expression
    message_expression: Expression | None
    message: str
    reason: str


class Variables(dict[str, Any]):
    """`variables`: each is computed at its first use in an expression."""

    def __init__(self, expressions: Mapping[str, Expression], values: Values) -> None:
        super().__init__()
        self._expressions = expressions
        self._values = {**values, "variables": self}
        self._failures: dict[str, str] = {}
        self._budget = Budget()

    def __contains__(self, name: object) -> bool:
        return name in self._expressions

    def __missing__(self, name: str) -> Any:
        if name not in self._failures:
            try:
                value = self._expressions[name].evaluate(self._values, self._budget)
            except CelError as error:
                text = f'composited variable "{name}" fails to evaluate: {error}'
                self._failures[name] = text
            else:
                self[name] = value
                return value
        raise EvalError(self._failures[name])


class CompiledPolicy:
    """A compiled stored policy, which can validate any number of requests.

    Raises ExpressionError if an expression does not compile. Writes refuse such policies, so this
    happens only for policies that were stored without validation.
    """

    mutates = False

    def __init__(self, policy: Object) -> None:
        spec = policy["spec"]
        self.name: str = policy["metadata"]["name"]
        self.param_kind: Object | None = spec.get("paramKind")
        self.constraints: Object | None = spec.get("matchConstraints")
        self.ignores_failures = spec.get("failurePolicy") == "Ignore"
        self.spec = spec

    @cached_property
    def scope(self) -> Scope:
        """The scope of the expressions."""
        return Scope(
            params=any_params() if self.param_kind is not None else None, mutates=self.mutates
        )

    @cached_property
    def variables(self) -> dict[str, Expression]:
        """The policy's variables; the first access declares them in `scope`."""
        expressions = {}
        for variable in self.spec.get("variables") or []:
            environment = self.scope.environment()
            expression = compiled(variable["expression"], environment, ANYTHING)
            expressions[variable["name"]] = expression
            self.scope.declare(variable["name"], expression.type, expression.runtime_type)
        return expressions

    @cached_property
    def _conditions(self) -> list[Expression]:
        environment = self.scope.environment(variables=False)
        return [
            compiled(condition["expression"], environment, CONDITION)
            for condition in self.spec.get("matchConditions") or []
        ]

    @cached_property
    def _validations(self) -> list[_Validation]:
        _ = self.variables  # declares them
        full, plain = self.scope.environment(), self.scope.environment(authorizer=False)
        validations = []
        for validation in self.spec.get("validations") or []:
            text = validation.get("messageExpression", "")
            expression = compiled(text, plain, MESSAGE) if text else None
            condition = compiled(validation["expression"], full, CONDITION)
            message = validation.get("message", "").strip()
            message = message or f"failed expression: {validation['expression'].strip()}"
            reason = validation.get("reason") or "Invalid"
            validations.append(_Validation(condition, expression, message, reason))
        return validations

    @cached_property
    def _annotations(self) -> list[tuple[str, Expression]]:
        _ = self.variables
        environment = self.scope.environment()
        return [
            (annotation["key"], compiled(annotation["valueExpression"], environment, ANNOTATION))
            for annotation in self.spec.get("auditAnnotations") or []
        ]

    def expressions(self) -> Iterator[tuple[str, Expression]]:
        """Yield the expressions that decide about requests, with their paths."""
        for at, condition in enumerate(self._conditions):
            yield f"spec.matchConditions[{at}].expression", condition
        for at, validation in enumerate(self._validations):
            yield f"spec.validations[{at}].expression", validation.condition

    def judge(self, values: Values, annotate: Annotate | None = None) -> list[Denial]:
        """Return the denials of a request; `values` has the values of all variables except
        `variables`."""
        try:
            if not self.applies(values):
                return []
        except CelError as error:
            return self._failure(str(error))
        budget = Budget()
        full = {**values, "variables": Variables(self.variables, values)}
        denials = [
            replace(denial, index=index)
            for index, validation in enumerate(self._validations)
            for denial in self._judged(validation, full, budget)
        ]
        return [*denials, *self._annotated(full, annotate)]

    def applies(self, values: Values) -> bool:
        """Return whether every match condition is true; a false one has priority over errors of
        others. As upstream, conditions do not see the namespace (matchconditions/matcher.go)."""
        seen = {**values, "namespaceObject": None}
        return all_hold(self._conditions, seen, ignores=self.ignores_failures)

    def _judged(self, validation: _Validation, values: Values, budget: Budget) -> list[Denial]:
        try:
            if validation.condition.evaluate(values, budget):
                return []
        except CelError as error:
            return self._failure(resulted(validation.condition, error))
        try:
            message = _message(validation, values, budget)
        except OutOfBudgetError as error:
            return self._failure(f"failed messageExpression: {error}")
        return [Denial(message, validation.reason)]

    def _annotated(self, values: Values, annotate: Annotate | None) -> Iterator[Denial]:
        """Pass the audit annotations to `annotate`; yields a Denial for each one that fails."""
        budget = Budget()
        for key, annotation in self._annotations:
            try:
                result = annotation.evaluate(values, budget)
            except CelError as error:
                if not self.ignores_failures:
                    yield Denial(resulted(annotation, error), always=True)
                continue
            text = result.strip() if isinstance(result, str) else ""
            if text and annotate is not None:
                annotate(key, text[:_MOST_ANNOTATED])

    def _failure(self, message: str) -> list[Denial]:
        return [] if self.ignores_failures else [Denial(message)]


def _message(validation: _Validation, values: Values, budget: Budget) -> str:
    """Return the result of messageExpression if it is a usable text, else the message."""
    if validation.message_expression is None:
        return validation.message
    try:
        result = validation.message_expression.evaluate(values, budget)
    except OutOfBudgetError:
        raise
    except CelError:
        return validation.message
    text = result.strip() if isinstance(result, str) else ""
    is_usable = text and "\n" not in text and len(text.encode("utf-8", "surrogatepass")) <= _LONGEST
    return text if is_usable else validation.message
