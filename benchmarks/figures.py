"""Figures and their table: the measurement, its result, its target.

A module of this folder has `measure() -> Iterable[Figure]` and ends with `figures.main(measure)`.
Run alone, it prints its own table. With `python -m benchmarks`, its figures are in the common
table.
"""

import json
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One line. `at_most` and `at_least` are the target in `unit`; without one, the line is only
    information."""

    what: str
    value: float
    unit: str
    at_most: float | None = None
    at_least: float | None = None
    note: str = ""

    @property
    def met(self) -> str:
        """Whether the target is met: yes, NO, or "" without a target."""
        if self.at_most is None and self.at_least is None:
            return ""
        high = self.at_most is not None and self.value > self.at_most
        low = self.at_least is not None and self.value < self.at_least
        return "NO" if high or low else "yes"

    @property
    def target(self) -> str:
        """The target as it is printed."""
        if self.at_most is not None:
            return f"<= {_number(self.at_most)} {self.unit}"
        return "" if self.at_least is None else f">= {_number(self.at_least)} {self.unit}"


HEAD = ("what", "figure", "target", "met", "note")


def table(figures: Iterable[Figure]) -> str:
    """Return the figures in columns."""
    rows: list[Sequence[str]] = [HEAD]
    rows += [
        (each.what, f"{_number(each.value)} {each.unit}", each.target, each.met, each.note)
        for each in figures
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def seconds(function: Callable[[], object], rounds: int, count: int) -> float:
    """Return the seconds of one call, the median of rounds of `count` calls."""
    found = []
    for _ in range(rounds):
        started = time.perf_counter()
        for _ in range(count):
            function()
        found.append((time.perf_counter() - started) / count)
    return statistics.median(found)


def main(measure: Callable[[], Iterable[Figure]]) -> None:
    """Print a module's table, or one figure a line as JSON with --json."""
    if "--json" in sys.argv:
        for figure in measure():
            print(json.dumps(asdict(figure)), flush=True)
    else:
        print(table(measure()))
