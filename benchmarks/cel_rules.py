"""Five typical rules: evaluations per second with cost counting, beside Google's C++ engine.

    python -m benchmarks.cel_rules

Prints both rates, their ratio, and what one cheap rule costs on an object with a list of 2,000.
"""

import time
from collections.abc import Callable
from typing import Any

from inkube.schemas.cel.program import CALL_LIMIT
from inkube.schemas.cel.rule import Rule
from inkube.schemas.cel.schema_decls import declare

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "minReplicas": {"type": "integer"},
        "replicas": {"type": "integer"},
        "maxReplicas": {"type": "integer"},
        "name": {"type": "string", "maxLength": 63},
        "mode": {"type": "string", "maxLength": 10},
        "ports": {
            "type": "array",
            "maxItems": 10,
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "port": {"type": "integer"}},
            },
        },
    },
}
RULES = (
    "self.minReplicas <= self.replicas && self.replicas <= self.maxReplicas",
    "self.name.startsWith('kube') || self.name == 'x'",
    "!has(self.mode) || self.mode in ['a', 'b', 'c']",
    "self.ports.all(p, p.port > 0 && p.port < 65536)",
    "size(self.ports) <= 10 && self.ports.exists(p, p.name == 'http')",
)
OBJECT: dict[str, Any] = {
    "minReplicas": 1,
    "replicas": 2,
    "maxReplicas": 3,
    "name": "kube-x",
    "mode": "b",
    "ports": [
        {"name": "dns", "port": 53},
        {"name": "http", "port": 80},
        {"name": "https", "port": 443},
    ],
}
_SECONDS = 0.5
_ROUNDS = 3


def ours() -> list[Callable[[], Any]]:
    """The rules, each as a call that evaluates it."""
    shape = declare(SCHEMA)
    assert shape is not None
    runs = [Rule({"rule": text}, shape).expression.program.run for text in RULES]
    return [lambda run=run: run(0, CALL_LIMIT, OBJECT, None) for run in runs]  # type: ignore[misc]  # run is bound


def theirs() -> list[Callable[[], Any]] | None:
    """The same in C++, or None where that engine is not installed."""
    try:
        from cel_expr_python import cel
    except ImportError:
        return None
    environment = cel.NewEnv(variables={"self": cel.Type.DYN})
    compiled = [environment.compile(text) for text in RULES]
    data = {"self": OBJECT}
    return [lambda one=one: one.eval(data=data) for one in compiled]


def rate(calls: list[Callable[[], Any]]) -> float:
    """Evaluations per second over all rules, the best of a few rounds."""
    best = 0.0
    for _ in range(_ROUNDS):
        count, start = 0, time.perf_counter()
        while (passed := time.perf_counter() - start) < _SECONDS:
            for _ in range(20):
                for call in calls:
                    call()
            count += 20 * len(calls)
        best = max(best, count / passed)
    return best


def large_object() -> float:
    """Microseconds of `self.x == 1` beside a list of 2,000 items."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            "x": {"type": "integer"},
            "items": {
                "type": "array",
                "items": {"type": "object", "properties": {"name": {"type": "string"}}},
            },
        },
    }
    shape = declare(schema)
    assert shape is not None
    run = Rule({"rule": "self.x == 1"}, shape).expression.program.run
    obj = {"x": 1, "items": [{"name": str(place)} for place in range(2_000)]}
    return 1e6 / rate([lambda: run(0, CALL_LIMIT, obj, None)])


def main() -> None:
    """Print the figures."""
    mine = rate(ours())
    print(f"evaluations/s          {mine:>12,.0f}")
    other = theirs()
    if other is not None:
        reference = rate(other)
        print(f"cel-expr-python        {reference:>12,.0f}")
        print(f"ratio                  {mine / reference:>12.1f}")
    print(f"self.x == 1, 2,000 items {large_object():>10.2f} µs")


if __name__ == "__main__":
    main()
