"""Judges a disturbed run beside the undisturbed one. They need no words of the author."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from inkube.apiserver.explore.observations import Write, is_write, write_of
from inkube.apiserver.explore.plans import Plan
from inkube.apiserver.explore.results import Expected, Result
from inkube.apiserver.explore.scenarios import Scenario
from inkube.apiserver.explore.states import Difference
from inkube.apiserver.http import RequestRecord

Verdict = Literal[
    "ended", "raised", "rule", "lost", "unled", "different", "loop", "retries", "failed"
]
VERDICTS: dict[Verdict, str] = {
    "ended": "The controller ended by itself",
    "raised": "A controller raised an exception",
    "rule": "A rule of the scenario does not hold",
    "lost": "Data was deleted that is otherwise kept",
    "unled": "The controller writes without its lease",
    "different": "The end differs from that without a disturbance",
    "loop": "The controller writes without end",
    "retries": "A request is repeated without success",
    "failed": "A test suite failed",
}
LOOP_FACTOR = 10
"""How many times more writes than the undisturbed run count as a loop …"""
LOOP_LEAST = 30
"""… and at least this number."""
HOT_RETRIES = 100
"""A request that is sent more often than this during OUTAGE_SECONDS has no back-off."""
OUTAGE_SECONDS = 2.0
RETRIES = 5
"""The number of equal failures in a row after which a request counts as repeated for good."""


class Finding(NamedTuple):
    """A fault that a plan showed. `text` is for users."""

    plan: Plan
    verdict: Verdict
    text: str
    differences: Sequence[Difference] = ()
    requests: Sequence[RequestRecord] = ()
    """The requests of the step, in the order in which they finished."""
    result: Result | None = None
    is_certain: bool = True
    """Whether a second run of the plan showed the same."""
    case: Scenario | None = None
    """The smallest scenario in which this plan shows it. The plan is in it."""
    is_first: bool = True
    """Whether no earlier finding has the same verdict and first difference."""


def judge(plan: Plan, result: Result, expected: Expected) -> Finding | None:
    """Return what is wrong with a run, or None. The gravest fault is told."""
    return next(_findings(plan, result, expected), None)


def _findings(plan: Plan, result: Result, expected: Expected) -> Iterator[Finding]:
    requests = [record for step in result.steps for record in step.requests]
    if result.exit_code is not None:
        text = f"the controller ended by itself, with exit code {result.exit_code}"
        yield Finding(plan, "ended", text, requests=requests, result=result)
    if result.failed:
        yield Finding(plan, "failed", result.failed, requests=requests, result=result)
    if result.errors:
        text = f"{result.errors[0]} ({len(result.errors)} times)"
        yield Finding(plan, "raised", text, requests=requests, result=result)
    if result.broken:
        yield Finding(plan, "rule", "; ".join(result.broken), requests=requests, result=result)
    lost = _lost(plan, result, expected)
    if lost:
        text = f"{', '.join(lost)}: deleted, where the undisturbed run keeps it"
        yield Finding(plan, "lost", text, requests=requests, result=result)
    if result.overwritten:
        text = f"{', '.join(result.overwritten)}: a label that another client set is gone"
        yield Finding(plan, "lost", text, requests=requests, result=result)
    if result.unled:
        text = f"{result.unled} writes of the controller while somebody else holds its lease"
        yield Finding(plan, "unled", text, requests=requests, result=result)
    if result.hot > HOT_RETRIES:
        text = f"no back-off: {result.hot} attempts in {OUTAGE_SECONDS:g} s while a request failed"
        yield Finding(plan, "retries", text, requests=requests, result=result)
    last = len(result.steps) - 1
    if not result.steps or result.steps[last].converged:
        return
    index = result.steps[last].index
    state = expected.states[index]
    differences = state.differences(result.steps[last].state, expected.masked) if state else []
    failing = _repeated(result.steps[last].requests) if state else None
    if failing:
        record, times = failing
        text = f"{write_of(record)} is answered {record.code} again and again ({times} times)"
        if differences:
            text = f"{_seen(differences)}: {text}"
        yield Finding(plan, "retries", text, differences, requests, result)
    if differences:
        yield Finding(plan, "different", _seen(differences), differences, requests, result)
    writes, usual = result.steps[last].writes, expected.writes[index]
    if writes > max(LOOP_LEAST, LOOP_FACTOR * usual):
        text = f"the controller does not come to rest: {writes} writes instead of {usual}"
        yield Finding(plan, "loop", text, (), requests, result)


def _lost(plan: Plan, result: Result, expected: Expected) -> list[str]:
    """Return objects that were deleted in a step in which the undisturbed run keeps them, without
    the one that the plan itself deletes."""
    if expected.deleted is None:
        return []
    found, begin = set[str](), 0
    for step in result.steps:
        found |= step.deleted.difference(*expected.deleted[begin : step.index + 1])
        begin = step.index + 1
    kept = (name for name in found if name.split(" ")[0] in _KEPT)
    return sorted(name for name in kept if re.split("[ /]", name)[-1] != plan.target[2])


_KEPT = frozenset({"PersistentVolumeClaim", "PersistentVolume", "Secret", "Namespace"})
"""Kinds whose deletion loses data."""


def _repeated(requests: Sequence[RequestRecord]) -> tuple[RequestRecord, int] | None:
    """Return a write that failed alike in all of its last attempts, and their number."""
    by_write: dict[Write, list[RequestRecord]] = defaultdict(list)
    for record in filter(is_write, requests):
        by_write[write_of(record)].append(record)
    for records in by_write.values():
        last = records[-1]
        times = next(
            (
                n
                for n, each in enumerate(reversed(records))
                if each.code != last.code or each.faults
            ),
            len(records),
        )
        if last.code >= 400 and times >= RETRIES:
            return last, times
    return None


def _seen(differences: Sequence[Difference]) -> str:
    """Return what a user sees first: objects that are missing or too many, then members."""
    more = len(differences) - 1
    return f"{first(differences)}" + (f" (and {more} more)" if more else "")


def first(differences: Sequence[Difference]) -> Difference:
    """Return the difference that matters most."""
    return min(differences, key=lambda each: (bool(each.place.path), each.place))
