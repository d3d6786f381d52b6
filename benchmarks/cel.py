"""Validation rules per second, with costs counted, beside Google's C++ engine (cel-expr-python).

    python benchmarks/cel.py      (one core; cel-expr-python comes with the test extra)

Both engines run the same five rules on the same object in one process. Google's engine counts no
cost and converts the object for every evaluation; `self.x == 1` beside 2,000 items shows the price.
"""

import statistics
import time
from collections.abc import Callable
from typing import Any

from inkube.schemas import cel
from inkube.schemas.cel import schema_decls

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
    """The rule as validation runs it: over the declared shape, under the cost limit."""
    shape = schema_decls.declare(schema)
    assert shape is not None
    run = cel.compile(rule, {"self": shape}).run
    return lambda: run(0, cel.CALL_LIMIT, value)[0]


def theirs(rule: str, value: dict[str, Any]) -> Callable[[], object] | None:
    """The rule on Google's engine, where it is installed."""
    try:
        from cel_expr_python import cel as google
    except ImportError:
        return None
    kind = google.Type.Map(google.Type.STRING, google.Type.DYN)
    expression = google.NewEnv(variables={"self": kind}).compile(rule)
    return lambda: expression.eval(data={"self": value}).value()


def seconds(function: Callable[[], object], count: int) -> float:
    """Of one call: the median of some rounds."""
    assert function() is True
    found = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(count):
            function()
        found.append((time.perf_counter() - start) / count)
    return statistics.median(found)


def row(name: str, mine: float, other: float | None) -> str:
    """One line of the table, in microseconds."""
    beside = f"{other * 1e6:10.2f} {other / mine:8.1f}x" if other else ""
    return f"{name[:70]:<70} {mine * 1e6:10.2f} {beside}"


def measured(rule: str, schema: dict[str, Any], value: dict[str, Any]) -> tuple[float, float]:
    """Seconds of an evaluation here and there; 0 where the other engine is missing."""
    google = theirs(rule, value)
    mine = seconds(ours(rule, schema, value), 20_000)
    return mine, seconds(google, 20 if value is LARGE else 2_000) if google else 0.0


def main() -> None:
    """Print the table."""
    print(f"{'microseconds per evaluation':<70} {'inkube':>10} {'C++':>10} {'ratio':>9}")
    figures = [measured(rule, SCHEMA, OBJECT) for rule in RULES]
    for rule, (mine, other) in zip(RULES, figures, strict=True):
        print(row(rule, mine, other))
    mine, other = (statistics.mean(column) for column in zip(*figures, strict=True))
    print(row("mean of the five", mine, other))
    print(
        row(f"{LARGE_RULE} on an object of 2,000 items", *measured(LARGE_RULE, LARGE_SCHEMA, LARGE))
    )
    beside = f", C++ {1 / other:,.0f}" if other else ""
    print(f"evaluations per second: inkube {1 / mine:,.0f}{beside}")


if __name__ == "__main__":
    main()
