"""Validation rules per second, with cost limits, compared with Google's C++ engine.

    python -m benchmarks.cel       (one core; cel-expr-python is in the extra for tests)

Both engines run the same five rules on the same object in one process. Google's engine counts no
costs, and converts the object for every evaluation; `self.x == 1` with 2,000 items in the object
shows the cost of that.
"""

import statistics
from collections.abc import Callable, Iterable
from typing import Any

from benchmarks import figures
from benchmarks.figures import Figure
from inkube.schemas import cel
from inkube.schemas.cel.declarations import schema_shapes

RULES = (
    "self.replicas <= self.maxReplicas",
    "!has(self.paused) || !self.paused || self.replicas == 0",
    "self.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
    "self.ports.all(p, p.port > 0 && p.port < 65536 && (!has(p.name) || p.name != 'reserved'))",
    "self.mode in ['Fast', 'Safe'] && (self.mode != 'Safe' || self.replicas > 1)",
)
STRING = {"type": "string", "maxLength": 63}
INTEGER = {"type": "integer"}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "replicas": INTEGER,
        "maxReplicas": INTEGER,
        "paused": {"type": "boolean"},
        "name": STRING,
        "mode": STRING,
        "ports": {
            "type": "array",
            "maxItems": 10,
            "items": {"type": "object", "properties": {"name": STRING, "port": INTEGER}},
        },
    },
}
OBJECT: dict[str, Any] = {
    "replicas": 3,
    "maxReplicas": 5,
    "paused": False,
    "name": "my-app-7",
    "mode": "Safe",
    "ports": [{"name": "http", "port": 80}, {"name": "https", "port": 443}, {"port": 9090}],
}
LARGE_RULE = "self.x == 1"
LARGE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "x": INTEGER,
        "items": {"type": "array", "items": {"type": "object", "properties": {"n": INTEGER}}},
    },
}
LARGE: dict[str, Any] = {"x": 1, "items": [{"n": number} for number in range(2_000)]}
ROUNDS = 7


def ours(rule: str, schema: dict[str, Any], value: dict[str, Any]) -> Callable[[], object]:
    """Return the rule as validation runs it: with the declared shape and the cost limit."""
    shape = schema_shapes.declare(schema)
    assert shape is not None
    run = cel.compile(rule, {"self": shape}).run
    return lambda: run(0, cel.CALL_LIMIT, value)[0]


def theirs(rule: str, value: dict[str, Any]) -> Callable[[], object] | None:
    """Return the rule in Google's engine, or None if it is not installed."""
    try:
        from cel_expr_python import cel as google
    except ImportError:
        return None
    kind = google.Type.Map(google.Type.STRING, google.Type.DYN)
    expression = google.NewEnv(variables={"self": kind}).compile(rule)
    return lambda: expression.eval(data={"self": value}).value()


def seconds(function: Callable[[], object], count: int) -> float:
    """Return the seconds of one evaluation."""
    assert function() is True
    return figures.seconds(function, ROUNDS, count)


def measured(rule: str, schema: dict[str, Any], value: dict[str, Any]) -> tuple[float, float]:
    """Return the seconds of an evaluation in both engines; 0 if the other engine is missing."""
    google = theirs(rule, value)
    mine = seconds(ours(rule, schema, value), 5_000)
    return mine, seconds(google, 20 if value is LARGE else 1_000) if google else 0.0


def measure() -> Iterable[Figure]:
    """Measure every rule, the mean of all, and the rule with many items in the object."""
    times = [measured(rule, SCHEMA, OBJECT) for rule in RULES]
    for rule, (mine, other) in zip(RULES, times, strict=True):
        note = f"C++ {other * 1e6:.2f} µs"
        yield Figure(f"rule {rule[:34]}", mine * 1e6, "µs", note=note)
    mine, other = (statistics.mean(column) for column in zip(*times, strict=True))
    note = f"C++ {1 / other:,.0f}" if other else "cel-expr-python is not installed"
    yield Figure("rules evaluated", 1 / mine, "per second", at_least=300_000, note=note)
    if other:
        yield Figure("rules evaluated, beside C++", other / mine, "times as many", at_least=2)
    mine, other = measured(LARGE_RULE, LARGE_SCHEMA, LARGE)
    note = f"C++ {other * 1e6:,.0f} µs"
    yield Figure(f"rule {LARGE_RULE} beside 2,000 items", mine * 1e6, "µs", at_most=5, note=note)


if __name__ == "__main__":
    figures.main(measure)
