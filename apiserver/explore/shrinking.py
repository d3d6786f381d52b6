"""Shrinks what a finding needs: fewer steps, fewer objects, fewer members and fewer faults.

A smaller case counts if its plan shows the same beside an undisturbed run of its own. Candidates
follow in a fixed order, and their number is the only bound, so a finding has one smallest case on
every machine.
"""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from inkube.apiserver.explore import actions, judges, momentplans, references, runners
from inkube.apiserver.explore.actions import Action
from inkube.apiserver.explore.judges import Finding
from inkube.apiserver.explore.plans import Plan
from inkube.apiserver.explore.references import ExplorationError, OtherWays
from inkube.apiserver.explore.scenarios import Scenario
from inkube.apiserver.manifests import ManifestError
from inkube.schemas.objects import Object

MOST_SHRUNK = 3
"""The most findings that are shrunk: the first of each cause."""
MEMBER_DEPTH = 3
"""The depth of members that are removed from objects."""


@dataclass(frozen=True, slots=True)
class Fails:
    """Tells whether the only plan of a scenario shows a finding."""

    folder: Path
    masked: frozenset[Any]
    """Places that differ by chance."""

    async def finding(self, case: Scenario) -> Finding | None:
        """Run a case without and with its plan, and return what the plan shows."""
        runner = runners.runner(case, self.folder)
        try:
            start = await runner.prepared()
            first = await references.undisturbed(case, runner, start)
        except (ExplorationError, ManifestError):
            return None  # it does not work without the rest
        usual = replace(references.expected(first, first), masked=self.masked)
        plan = momentplans.with_moment(case.plans[0], runner.plans(first, first, None))
        expected = await OtherWays(runner, start, usual).expected(plan) if plan else None
        if plan is None or expected is None:
            return None
        result = await runner.run(start, plan, expected)
        return None if result.error else judges.judge(plan, result, expected)


async def shrunk(
    scenario: Scenario, findings: Sequence[Finding], fails: Fails, most: int
) -> list[Finding]:
    """Return the findings with the smallest case of each cause, after at most that number of
    smaller cases for each of them. A finding that is not certain is not shrunk."""
    found, causes = [], set[tuple[str, str]]()
    for finding in findings:
        case, cause = replace(scenario, plans=(finding.plan,)), _cause(finding)
        is_first = cause not in causes
        causes.add(cause)
        if most and finding.is_certain and is_first and len(causes) <= MOST_SHRUNK:
            case = await _smallest(case, cause, fails, most)
        found.append(finding._replace(case=case, is_first=is_first))
    return found


async def _smallest(case: Scenario, cause: tuple[str, str], fails: Fails, most: int) -> Scenario:
    tried = {_key(case)}
    while True:
        fresh = (each for each in smaller(case) if _key(each) not in tried)
        for candidate in fresh:
            if len(tried) > most:
                return case
            tried.add(_key(candidate))
            finding = await fails.finding(candidate)
            if finding is not None and _cause(finding) == cause:
                case = candidate
                break
        else:
            return case


def _cause(finding: Finding) -> tuple[str, str]:
    """Return the verdict, and the first place that differs."""
    differences = finding.differences
    return finding.verdict, str(judges.first(differences).place) if differences else ""


def _key(case: Scenario) -> bytes:
    steps = [step.document() for step in case.steps]
    return orjson.dumps([steps, case.plans[0].document()])


def smaller(case: Scenario) -> Iterator[Scenario]:
    """Yield smaller cases: the most that can be left out first."""
    [plan] = case.plans
    last = plan.step + (1 if plan.then == "next" else 0)
    if last + 1 < len(case.steps):
        yield replace(case, steps=case.steps[: last + 1])
    if plan.steps:
        for steps in _fewer(plan.steps):
            yield replace(case, plans=(replace(plan, steps=steps),))
        return
    for index in range(plan.step):
        steps = (*case.steps[:index], *case.steps[index + 1 :])
        yield replace(case, steps=steps, plans=(_earlier(plan),))
    for number in range(1 if plan.then else 0, len(plan.faults)):
        faults = (*plan.faults[:number], *plan.faults[number + 1 :])
        if faults:
            yield replace(case, plans=(replace(plan, faults=faults),))
    for index, step in enumerate(case.steps):
        for less in _less(step):
            yield replace(case, steps=(*case.steps[:index], less, *case.steps[index + 1 :]))


def _earlier(plan: Plan) -> Plan:
    """Return the plan for a scenario with one step less before it."""
    moment = plan.moment and plan.moment._replace(step=plan.step - 1)
    return replace(plan, step=plan.step - 1, moment=moment)


def _fewer(steps: Sequence[Action]) -> Iterator[tuple[Action, ...]]:
    """Yield the steps without one of them, except the last, or with one part of those that are
    done together."""
    for index, step in enumerate(steps):
        rest = (*steps[:index],), (*steps[index + 1 :],)
        if index + 1 < len(steps) > 2:
            yield (*rest[0], *rest[1])
        for part in step.parts if index + 1 < len(steps) else step.parts[-1:]:
            yield (*rest[0], part, *rest[1])


def _less(step: Action) -> Iterator[Action]:
    """Yield the step without one of its objects, and without a member of one."""
    objects = step.objects
    for index in range(len(objects) if len(objects) > 1 else 0):
        yield actions.of_objects((*objects[:index], *objects[index + 1 :]))
    for index, obj in enumerate(objects):
        for less in _without_a_member(obj):
            yield actions.of_objects((*objects[:index], less, *objects[index + 1 :]))


def _without_a_member(obj: Object) -> Iterator[Object]:
    for path in _members(obj, ()):
        copy: Any = deepcopy(obj)
        place = copy
        for part in path[:-1]:
            place = place[part]
        del place[path[-1]]
        yield copy


def _members(value: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the paths of members that can be missing, outer ones first."""
    if not isinstance(value, dict) or len(path) > MEMBER_DEPTH:
        return
    names = [name for name in value if path or name not in ("apiVersion", "kind", "metadata")]
    for name in names:
        yield (*path, name)
    for name in names:
        yield from _members(value[name], (*path, name))
