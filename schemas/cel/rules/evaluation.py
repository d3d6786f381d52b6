"""Validation rules of a schema, run on objects: apiextensions-apiserver schema/cel/validation.go.

    found, warnings = RuleSet(schema).judge(errors, obj, old)

Only the parts of an object with rules are visited. Rules are compiled at their first run. `judge`
first checks the other errors of the object, some of which prevent rules from running.
"""

from collections.abc import Iterable
from typing import Any, Final

from inkube.schemas import releases
from inkube.schemas.cel.declarations.functions import CostExceededError, EvalError
from inkube.schemas.cel.declarations.schema_shapes import declare
from inkube.schemas.cel.declarations.types import Shape
from inkube.schemas.cel.declarations.values import NONE, Optional
from inkube.schemas.cel.rules import messages, misfits
from inkube.schemas.cel.rules.ratcheting import Ratchet
from inkube.schemas.cel.rules.rule import Rule, RuleError
from inkube.schemas.cel.running.json_values import Adapter, adapter
from inkube.schemas.cel.running.operators import MISSING
from inkube.schemas.cel.running.program import CALL_LIMIT, log_defect
from inkube.schemas.fielderrors import FieldError, Type
from inkube.schemas.lazyproperty import cached_property
from inkube.schemas.structural import NEVER_COMPARED, Correlation, Node, schemapaths

OBJECT_BUDGET: Final = 10_000_000
"""The cost limit of all rules together for one object (RuntimeCELCostBudget)."""
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_BLOCKING: Final = frozenset(
    {Type.NOT_SUPPORTED, Type.REQUIRED, Type.TOO_LONG, Type.TOO_MANY, Type.TYPE_INVALID}
)
NOT_CHECKED: Final = FieldError(
    Type.INVALID,
    "<nil>",
    None,
    "some validation rules were not checked because the object was invalid; correct the existing"
    " errors to complete validation",
)
"""The additional error if other errors prevent rules from running."""


def blocks_rules(errors: Iterable[FieldError]) -> bool:
    """Return whether the schema's errors prevent rules from running; NOT_CHECKED is then added."""
    return any(error.type in _BLOCKING for error in errors)


_SHOWS_VALUES = 35
"""The first minor in which the error of a rule shows the value instead of its type."""


class RuleSet:
    """All rules of one schema (that of a whole resource, unless `is_root` is false)."""

    def __init__(
        self, schema: dict[str, Any], *, is_root: bool = True, minor: int = releases.NEWEST.minor
    ) -> None:
        self._plan = _plan(schema, is_root=is_root)
        self._node = Node(schema)
        self._shows_values = minor >= _SHOWS_VALUES

    def __bool__(self) -> bool:
        """Return whether the schema has a rule."""
        return self._plan is not None

    def judge(
        self, errors: Iterable[FieldError], obj: Any, old: Any = None
    ) -> tuple[list[FieldError], list[str]]:
        """Return the errors and warnings of the rules, or NOT_CHECKED, to add to the schema's
        `errors`."""
        problems = list(errors)
        if self._plan is not None and blocks_rules(problems):
            return [NOT_CHECKED], []
        return self.validate(obj, old, is_checked=not problems)

    def validate(
        self,
        obj: Any,
        old: Any = None,
        *,
        path: str = "",
        budget: int = OBJECT_BUDGET,
        is_checked: bool = True,
    ) -> tuple[list[FieldError], list[str]]:
        """Return the errors, and warnings for failures of unchanged parts. Does not change its
        arguments.

        `old` is the stored object on update; transition rules run only on values that it also has.
        `is_checked`: whether the values have the types of the schema.
        """
        if self._plan is None:
            return [], []
        run = _Run(budget, is_checked=is_checked, shows_values=self._shows_values)
        ratchet = Ratchet(None if old is None else Correlation(self._node, obj, old))
        run.visit(self._plan, path, obj, ratchet)
        return run.errors, run.warnings


class _Plan:
    """A schema node with rules at or below it."""

    def __init__(self, schema: dict[str, Any], is_root: bool, *, has_type: bool) -> None:
        """`has_type` is False below `items` of what is no array, and values of what is no map."""
        self.schema = schema
        self._is_root = is_root
        self._has_type = has_type
        self.properties: dict[str, _Plan] = {}
        self.values: _Plan | None = None
        self.items: _Plan | None = None
        self._rules: list[Rule] | None = None
        self._shape: Shape | None = None

    @property
    def type(self) -> str:
        """The schema's type, "" for int-or-string."""
        return str(self.schema.get("type", ""))

    @property
    def rules(self) -> list[Rule]:
        """The rules of the node itself."""
        if self._rules is None:
            self._rules = self._declared()
        return self._rules

    @cached_property
    def sees_old(self) -> bool:
        """Whether messages can use oldSelf, because one of the rules uses it."""
        return any(rule.uses_old_self for rule in self.rules if not rule.error)

    @cached_property
    def adapt(self) -> Adapter | None:
        """The conversion of a JSON value to the value for rules, None if both are the same."""
        shape = self._shape
        return adapter(shape) if shape is not None and shape.is_adapted else None

    @property
    def lacks_type(self) -> bool:
        """Whether the node has rules, but no type for them."""
        return not self._has_type and bool(self.schema.get("x-kubernetes-validations"))

    def _declared(self) -> list[Rule]:
        specs = self.schema.get("x-kubernetes-validations") or []
        shape = declare(self.schema, is_root=self._is_root) if specs else None
        if shape is None:
            return []
        self._shape = shape
        return [Rule(spec, shape, _field_path(spec, self.schema)) for spec in specs]


def _field_path(spec: dict[str, Any], schema: dict[str, Any]) -> str:
    path = spec.get("fieldPath")
    if not path:
        return ""
    try:
        return schemapaths.resolve(path, schema)[0]
    except schemapaths.InvalidPath:
        return ""


def _plan(schema: Any, *, is_root: bool, has_type: bool = True) -> _Plan | None:
    if not isinstance(schema, dict):
        return None
    plan = _Plan(schema, is_root, has_type=has_type)
    for name, part in (schema.get("properties") or {}).items():
        child = _child(part)
        if child is not None:
            plan.properties[name] = child
    plan.values = _child(schema.get("additionalProperties"), has_type and plan.type == "object")
    plan.items = _child(schema.get("items"), has_type and plan.type == "array")
    has_rules = bool(schema.get("x-kubernetes-validations"))
    return plan if has_rules or plan.properties or plan.values or plan.items else None


def _child(schema: Any, has_type: bool = True) -> _Plan | None:
    is_root = isinstance(schema, dict) and bool(schema.get(_EMBEDDED))
    return _plan(schema, is_root=is_root, has_type=has_type)


def _misfit(plan: _Plan, new: Any, old: Any) -> str:
    """Return the value within the new or the old one that does not have the type of its schema, or
    ""."""
    return misfits.within(plan.schema, new) or misfits.within(plan.schema, old)


class _Stopped(Exception):
    """Raised to stop the run of further rules."""


class _Run:
    """One validation: its errors and warnings so far, and the remaining budget."""

    def __init__(self, budget: int, *, is_checked: bool, shows_values: bool) -> None:
        self.errors: list[FieldError] = []
        self.warnings: list[str] = []
        self._budget = budget
        self._is_checked = is_checked
        self._shows_values = shows_values
        self._logged: set[str] = set()
        """Rules with a logged failure of messageExpression: one log entry for each object."""

    def visit(self, plan: _Plan, path: str, new: Any, ratchet: Ratchet) -> None:
        try:
            self._visit(plan, path, new, ratchet)
        except _Stopped:
            return

    def _visit(self, plan: _Plan, path: str, new: Any, ratchet: Ratchet) -> None:
        if new is None:
            return
        if plan.lacks_type:
            self._report(path, plan.type, messages.NO_TYPE)
        elif plan.rules:
            self._evaluate_all(plan, path, new, ratchet)
        if isinstance(new, dict):
            self._visit_map(plan, path, new, ratchet)
        elif isinstance(new, list) and plan.items is not None:
            for place, item in enumerate(new):
                self._visit(plan.items, f"{path}[{place}]", item, ratchet.child(place))

    def _visit_map(self, plan: _Plan, path: str, new: dict[str, Any], ratchet: Ratchet) -> None:
        if plan.values is not None:
            for key, value in new.items():
                self._visit(plan.values, f"{path}[{key}]", value, ratchet.child(key))
        for key, child in plan.properties.items():
            if key in new:
                below = f"{path}.{key}" if path else key
                self._visit(child, below, new[key], ratchet.child(key))

    def _evaluate_all(self, plan: _Plan, path: str, new: Any, ratchet: Ratchet) -> None:
        if self._budget <= 0:
            self._stop(plan, path, messages.OUT_OF_BUDGET)
        misfit = "" if self._is_checked else misfits.of(plan.schema, new)
        for rule in plan.rules:
            if not rule.is_empty:
                self._evaluate(plan, path, new, rule, ratchet, misfit)

    def _evaluate(
        self, plan: _Plan, path: str, new: Any, rule: Rule, ratchet: Ratchet, misfit: str
    ) -> None:
        old = ratchet.old
        try:
            if rule.uses_old_self and old is None and not rule.has_optional_old_self:
                return
            program = rule.expression.program
        except RuleError as error:
            self._report(path, plan.type, f"rule compile error: {error}")
            return
        if misfit:
            self._report(path, plan.type, messages.failed(EvalError(misfit), rule.name))
            return
        seen = self._optional(plan, old) if rule.has_optional_old_self else old
        try:
            read = new if self._is_checked else misfits.marked(plan.schema, new)
            holds, cost = program.run(0, CALL_LIMIT, read, seen)
            if isinstance(holds, misfits.Misfit):
                holds.fail()
        except EvalError as error:
            self._pay(plan, path, error.cost)
            met = _misfit(plan, new, old) if error.__cause__ is not None else ""
            if not met:
                log_defect(error, rule.text)
            self._report(
                path, plan.type, messages.failed(EvalError(met) if met else error, rule.name)
            )
            return
        except CostExceededError as error:
            self._stop(plan, path, messages.too_dear(error, rule.name))
            return
        self._pay(plan, path, cost)
        if holds is not True:
            self._refuse(plan, path, new, rule, ratchet)

    def _optional(self, plan: _Plan, old: Any) -> Optional:
        if old is None:
            return NONE
        return Optional(old if plan.adapt is None else plan.adapt(old))

    def _refuse(self, plan: _Plan, path: str, new: Any, rule: Rule, ratchet: Ratchet) -> None:
        place, old = path, ratchet.old
        if rule.field_path:
            place = f"{path}.{rule.field_path}" if path else rule.field_path
        seen = old if old is not None and plan.sees_old else MISSING
        message = messages.evaluated(rule, new, seen, self._budget)
        if message.failure and rule.name not in self._logged:
            self._logged.add(rule.name)
            messages.log_failure(rule, message.failure)
        if message.cost > self._budget:
            self._stop(plan, place, message.text)
        self._budget -= message.cost
        reported_value = new if self._shows_values else plan.type
        error = messages.refusal(
            place or "<nil>", reported_value, message.text, rule.spec.get("reason")
        )
        if ratchet.holds and not rule.uses_old_self and path not in NEVER_COMPARED:
            self.warnings.append(error.text())
        else:
            self.errors.append(error)

    def _pay(self, plan: _Plan, path: str, cost: int) -> None:
        if cost > self._budget:
            self._stop(plan, path, messages.OUT_OF_BUDGET)
        self._budget -= cost

    def _report(self, path: str, value: str, detail: str) -> None:
        self.errors.append(FieldError(Type.INVALID, path or "<nil>", value, detail))

    def _stop(self, plan: _Plan, path: str, detail: str) -> None:
        self._report(path, plan.type, detail)
        raise _Stopped
