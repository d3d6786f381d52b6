"""Validation of the rules of a schema when a CRD is created or changed.

Follows apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go: every rule is
compiled, its estimated cost is multiplied by the largest number of occurrences of its node, and the
sum of all costs is limited.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from inkube.schemas import fielderrors, releases
from inkube.schemas.caches import Memo
from inkube.schemas.cel.declarations.estimates import TOP
from inkube.schemas.cel.declarations.schema_shapes import MAX_REQUEST, declare, shortest
from inkube.schemas.cel.rules.evaluation import RuleSet
from inkube.schemas.cel.rules.rule import Rule, RuleError, go_source, go_struct
from inkube.schemas.cel.rules.total_cost import TotalCost, over_budget
from inkube.schemas.cel.running import libraries
from inkube.schemas.fielderrors import FieldError, sourced

RULE_LIMIT: Final = 10_000_000
"""The greatest estimated cost of one rule (StaticEstimatedCostLimit)."""
_RULES: Final = "x-kubernetes-validations"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_NO_TYPE: Final = (
    "internal error: failed to construct type information for x-kubernetes-validations rules:"
    " unable to convert structural schema to CEL declarations"
)
_Schema = dict[str, Any]


def validate_rules(
    schema: _Schema,
    path: str,
    errors: Sequence[FieldError] = (),
    *,
    unchanged: bool = False,
    minor: int = releases.NEWEST.minor,
) -> list[FieldError]:
    """Return the errors of the rules of a resource's openAPIV3Schema at `path`.

    `errors` are other errors of the schema: rules on a node with an error at or below it are not
    compiled. `unchanged`: the schema was accepted before. The cost of a single rule is then not
    limited, and rules can use functions of later minors.

    `crds.rules` has the checks that do not compile a rule.
    """
    total = TotalCost()
    ruled = _ruled(schema)
    minor_limit = None if unchanged else libraries.restricted(minor)
    context = _Context(path, errors, unchanged, total, ruled, minor_limit, is_root=True)
    return [*_node(schema, context), *total.errors(path)]


def run_on_default(
    schema: _Schema, default: Any, path: str, minor: int = releases.NEWEST.minor
) -> list[FieldError]:
    """Return the errors of a schema's rules in a minor for the default value at `path`.

    Transition rules use the default as old and new value, as in defaulting/validation.go.
    """
    rules = RuleSet(schema, is_root=bool(schema.get(_EMBEDDED)), minor=minor)
    if not rules:
        return []
    staying, _ = rules.validate(default, default, path=path)
    new, _ = rules.validate(default, path=path)
    return [*staying, *(error for error in new if error not in staying)]


@dataclass(frozen=True, slots=True)
class _Context:
    """The place of a schema node. `count`: its most occurrences, None if unlimited."""

    path: str
    errors: Sequence[FieldError]
    unchanged: bool
    total: TotalCost
    ruled: set[int]
    """The nodes (`id`) that have rules at or below them: the only ones visited."""
    minor: int | None
    """The minor whose functions rules can call, None for all functions."""
    is_root: bool = False
    count: int | None = 1
    uncorrelated: str = ""
    """The list or map within which old and new values cannot be matched."""

    @property
    def is_broken(self) -> bool:
        """Whether this node or a node below it has another error."""
        ends = ("", ".", "[")
        return any(
            error.field.startswith(self.path) and error.field[len(self.path) :][:1] in ends
            for error in self.errors
        )

    def below(self, part: str, schema: _Schema) -> "_Context":
        """Return the place of a child node."""
        return replace(self, path=f"{self.path}.{part}", is_root=bool(schema.get(_EMBEDDED)))

    def each(self, bound: int | None) -> "_Context":
        """Return the context of items or values that occur up to `bound` times in this place."""
        if self.count is None or bound is None:
            return replace(self, count=None)
        return replace(self, count=min(self.count * max(bound, 0), TOP))

    def without_old(self, path: str) -> "_Context":
        """Return the context of values that cannot be correlated, because of the node at `path`."""
        return self if self.uncorrelated else replace(self, uncorrelated=path)


def _ruled(schema: _Schema) -> set[int]:
    """Return the nodes with rules at or below them, by identity."""
    nodes: set[int] = set()
    _mark(schema, nodes)
    return nodes


def _mark(schema: _Schema, nodes: set[int]) -> bool:
    has_rules = bool(schema.get(_RULES))
    for part in (schema.get("properties") or {}).values():
        if isinstance(part, dict) and _mark(part, nodes):
            has_rules = True
    for key in ("additionalProperties", "items"):
        part = schema.get(key)
        if isinstance(part, dict) and _mark(part, nodes):
            has_rules = True
    if has_rules:
        nodes.add(id(schema))
    return has_rules


def _node(schema: _Schema, context: _Context) -> Iterator[FieldError]:
    if id(schema) not in context.ruled:
        return
    specs = schema.get(_RULES)
    if specs and not context.is_broken:
        yield from _rules(specs, schema, context)
    for name, part in (schema.get("properties") or {}).items():
        if id(part) in context.ruled:
            yield from _node(part, context.below(f"properties[{name}]", part))
    values = schema.get("additionalProperties")
    if isinstance(values, dict):
        below = context.below("additionalProperties", values).each(schema.get("maxProperties"))
        yield from _node(values, below)
    items = schema.get("items")
    if isinstance(items, dict):
        below = context.below("items", items).each(schema.get("maxItems"))
        if schema.get("x-kubernetes-list-type") != "map":
            below = below.without_old(context.path)
        yield from _node(items, below)


class _Verdict(NamedTuple):
    """The results of compiling a rule, independent of the place of its node.

    Costs are those of one run. `error` is the reason to refuse the rule, `message_error` that to
    refuse its messageExpression. `message_cost` is None without a messageExpression.
    """

    cost: int = 0
    uses_old_self: bool = False
    message_cost: int | None = None
    error: str = ""
    message_error: str = ""

    @property
    def is_refused(self) -> bool:
        """Whether the rule or its messageExpression cannot be used."""
        return bool(self.error or self.message_error)


_SOUND: Final[Memo[list[_Verdict | None]]] = Memo(__name__, "_SOUND", 2048)
"""Results for nodes without refused rules; other errors name types by their place.

The same nodes are checked again in other versions, in kinds of one family, and for every server
of the process (47 CRDs of four projects have 137 nodes with rules, 76 different ones).
"""


def _rules(specs: list[_Schema], schema: _Schema, context: _Context) -> Iterator[FieldError]:
    key = _SOUND.key(schema, context.is_root, context.minor)
    verdicts = _SOUND.get(key)
    if verdicts is None:
        shape = declare(
            schema,
            is_root=context.is_root,
            name=context.path,
            plain_words=libraries.has_plain_words(context.minor),
        )
        if shape is None:
            yield fielderrors.internal(f"{context.path}.{_RULES}", _NO_TYPE)
            return
        verdicts = [
            _judged(Rule(spec, shape, functions=libraries.of(context.minor))) for spec in specs
        ]
        if not any(verdict and verdict.is_refused for verdict in verdicts):
            _SOUND.put(key, verdicts)
    count = _count(context, schema)
    for place, verdict in enumerate(verdicts):
        if verdict is not None:
            path = f"{context.path}.{_RULES}[{place}]"
            yield from _candidate_errors(_Candidate(specs[place], path, verdict), count, context)


def _count(context: _Context, schema: _Schema) -> int:
    """Return the largest number of occurrences of the node.

    Without bounds, this is the number of the smallest values that fit into a request.
    """
    if context.count is not None:
        return context.count
    return MAX_REQUEST // (shortest(schema, is_root=context.is_root) + 1)


def _judged(rule: Rule) -> _Verdict | None:
    """Compile a rule; None if the rule is empty."""
    if rule.is_empty:
        return None
    try:
        uses_old_self = rule.uses_old_self
        rule.expression.prepare()
    except RuleError as error:
        return _Verdict(error=str(error))
    verdict = _Verdict(rule.expression.cost, uses_old_self)
    expression = rule.message_expression
    if expression is None:
        return verdict
    try:
        expression.prepare()
    except RuleError as error:
        return verdict._replace(message_error=str(error))
    return verdict._replace(message_cost=expression.cost)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A rule, its path, and the results of compiling it."""

    spec: _Schema
    path: str
    verdict: _Verdict

    def error(self, field: str, detail: str) -> FieldError:
        """Return an error with the whole rule as its value."""
        return fielderrors.invalid(
            f"{self.path}.{field}", sourced(go_struct(self.spec), go_source(self.spec)), detail
        )


def _candidate_errors(candidate: _Candidate, count: int, context: _Context) -> Iterator[FieldError]:
    verdict, path = candidate.verdict, f"{candidate.path}.rule"
    if verdict.error:
        yield candidate.error("rule", verdict.error)
        yield from _transition(candidate, context)  # such a rule counts as one without oldSelf
        return
    cost = min(verdict.cost * count, TOP)
    if cost > RULE_LIMIT and not context.unchanged:
        yield fielderrors.forbidden(path, over_budget("estimated rule cost", cost, RULE_LIMIT))
    context.total.observe(path, cost)
    yield from _message(candidate, context)
    yield from _transition(candidate, context)


def _message(candidate: _Candidate, context: _Context) -> Iterator[FieldError]:
    cost, path = candidate.verdict.message_cost, f"{candidate.path}.messageExpression"
    if candidate.verdict.message_error:
        yield candidate.error("messageExpression", candidate.verdict.message_error)
    if cost is None:
        return
    if cost > RULE_LIMIT and not context.unchanged:
        detail = over_budget("estimated messageExpression cost", cost, RULE_LIMIT)
        yield fielderrors.forbidden(path, detail)
    context.total.observe(path, cost)


def _transition(candidate: _Candidate, context: _Context) -> Iterator[FieldError]:
    spec, uses_old_self = candidate.spec, candidate.verdict.uses_old_self
    if uses_old_self and context.uncorrelated:
        detail = (
            "oldSelf cannot be used on the uncorrelatable portion of the schema within"
            f" {context.uncorrelated}"
        )
        yield fielderrors.invalid(f"{candidate.path}.rule", spec["rule"], detail)
    optional = spec.get("optionalOldSelf")
    if not uses_old_self and optional is not None:
        detail = "may not be set if oldSelf is not used in rule"
        yield fielderrors.invalid(f"{candidate.path}.optionalOldSelf", optional, detail)
