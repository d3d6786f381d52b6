"""Explores a scenario: two undisturbed runs, then one run for each plan, within a budget."""

import asyncio
import fnmatch
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from inkube.apiserver.explore import judges, momentplans, references, runners, shrinking
from inkube.apiserver.explore.judges import Finding
from inkube.apiserver.explore.plans import Plan
from inkube.apiserver.explore.references import ExplorationError, OtherWays
from inkube.apiserver.explore.results import Expected, Result
from inkube.apiserver.explore.runners import Runner
from inkube.apiserver.explore.scenarios import Scenario
from inkube.apiserver.http import RequestRecord
from inkube.apiserver.sources import Snapshot

BUDGET_SECONDS = 60.0
SMALLER_CASES = 8
KEPT_REQUESTS = 1000
"""How many of the last requests of a finding are kept, without their bodies, so that many findings
of a controller in a loop fit into memory."""
Progress = Callable[[int, int, Plan, Finding | None], None]
"""Called after each plan with the number of finished plans, of all plans, the plan and its
finding."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is explored."""

    budget: float = BUDGET_SECONDS
    """Seconds for the disturbed runs. The last ones are finished."""
    most: int | None = None
    """The number of plans that are chosen, the first of them; None for all."""
    jobs: int = 1
    """The number of runs at the same time."""
    only: Sequence[str] = ()
    """Patterns of names: other plans are left out."""
    categories: frozenset[str] = frozenset()
    """Other categories are left out; empty for all."""
    exit_first: bool = False
    """Whether the first certain finding ends the exploration."""
    seed: int | None = None
    """Plans run in a random order that this number selects; None for the likely ones first."""
    shrink: int = SMALLER_CASES
    """The most smaller cases that are tried for a finding; 0 for none."""


@dataclass(slots=True)
class Exploration:
    """The result of an exploration."""

    findings: list[Finding] = field(default_factory=list)
    passed: list[Plan] = field(default_factory=list)
    not_struck: list[Plan] = field(default_factory=list)
    """Plans whose disturbance did not take place, because the controller did something else."""
    left_out: list[Plan] = field(default_factory=list)
    """Plans for which the budget was too small."""
    failed: list[tuple[Plan, str]] = field(default_factory=list)
    """Plans that could not be carried out, and why."""
    seconds: float = 0.0
    is_interrupted: bool = False
    """Whether it ended before its budget was used up, because somebody stopped it."""

    @property
    def plans(self) -> int:
        """The number of all plans."""
        lists = self.findings, self.passed, self.not_struck, self.left_out, self.failed
        return sum(len(each) for each in lists)


def explore(
    scenario: Scenario,
    limits: Limits = Limits(),  # a frozen value
    progress: Progress = lambda done, total, plan, finding: None,
) -> Exploration:
    """Explore a scenario in a new event loop. Raises ExplorationError, ManifestError,
    OSError."""
    return asyncio.run(_explored(scenario, limits, progress))


async def _explored(scenario: Scenario, limits: Limits, progress: Progress) -> Exploration:
    found = Exploration()
    await explore_into(found, scenario, limits, progress)
    return found


async def explore_into(
    exploration: Exploration, scenario: Scenario, limits: Limits, progress: Progress
) -> None:
    """Explore a scenario, and add what is found to an empty exploration. If this is cancelled, it
    contains what was found before. Raises ExplorationError, ManifestError, OSError."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="inkube-explore-")))
        runner = runners.runner(scenario, folder)
        start = await runner.prepared()
        first = await references.undisturbed(scenario, runner, start)
        second = await references.undisturbed(scenario, runner, start)
        expected = references.expected(first, second)
        explorer = _Explorer(runner, start, limits, expected, exploration)
        plans = _chosen(_plans(scenario, runner, limits, first, second), limits)
        fails = shrinking.Fails(folder, expected.masked)
        try:
            await explorer.all(plans, progress)
            exploration.findings = await shrinking.shrunk(
                scenario, exploration.findings, fails, limits.shrink
            )
        except asyncio.CancelledError:  # without smaller cases, which take time
            exploration.findings = await shrinking.shrunk(scenario, exploration.findings, fails, 0)
            raise


def _plans(
    scenario: Scenario, runner: Runner, limits: Limits, first: Result, second: Result
) -> Sequence[Plan]:
    """Return the scenario's plans, or those that follow from the undisturbed runs."""
    derived = runner.plans(first, second, limits.seed)
    if scenario.plans:
        return [_placed(plan, derived) for plan in scenario.plans]
    if not derived:
        raise ExplorationError(
            "the controller writes nothing in the undisturbed runs: do the steps concern it?"
            f" Its log:\n{first.log}"
        )
    return list(_named_apart(derived))


def _placed(plan: Plan, derived: Sequence[Plan]) -> Plan:
    placed = momentplans.with_moment(plan, derived)
    if placed is None:
        after = plan.moment.text if plan.moment else ""
        raise ExplorationError(
            f"{plan.name}: the undisturbed run has no {after} in step {plan.step + 1}"
        )
    return placed


def _chosen(plans: Sequence[Plan], limits: Limits) -> list[Plan]:
    """Return the selected plans. Raises ExplorationError if there are none, because a run that
    tries nothing finds nothing."""
    chosen = [
        plan
        for plan in plans
        if (not limits.only or any(fnmatch.fnmatchcase(plan.name, each) for each in limits.only))
        and (not limits.categories or plan.category in limits.categories)
    ]
    if plans and not chosen:
        asked = ", ".join([*map(repr, limits.only), *sorted(limits.categories)])
        raise ExplorationError(f"none of {len(plans)} plans matches {asked}: {plans[0].name!r}, …")
    if limits.seed is not None:
        random.Random(limits.seed).shuffle(chosen)  # noqa: S311 # to be the same again
    return chosen[: limits.most]


def _named_apart(plans: Sequence[Plan]) -> Iterator[Plan]:
    """Yield the plans, with names that occur once: those of a later step also contain its
    number."""
    seen: set[str] = set()
    for plan in plans:
        name = f"{plan.name} in step {plan.step + 1}" if plan.name in seen else plan.name
        seen.add(name)
        yield replace(plan, name=name)


class _Explorer:
    def __init__(
        self,
        runner: Runner,
        start: Snapshot,
        limits: Limits,
        expected: Expected,
        exploration: Exploration,
    ) -> None:
        self._runner = runner
        self._start = start
        self._limits = limits
        self._ways = OtherWays(runner, start, expected)
        self._exploration = exploration

    async def all(self, plans: Sequence[Plan], progress: Progress) -> None:
        """Run all plans until the budget is used up. If this is cancelled, the plans that did not
        end are left out."""
        began = time.monotonic()
        pending = iter(plans)

        async def work() -> None:
            for plan in pending:
                if self._is_over(time.monotonic() - began):
                    self._exploration.left_out.append(plan)
                    continue
                try:
                    finding = await self._plan(plan)
                except asyncio.CancelledError:
                    self._exploration.left_out.append(plan)
                    raise
                progress(
                    self._exploration.plans - len(self._exploration.left_out),
                    len(plans),
                    plan,
                    finding,
                )

        try:
            async with asyncio.TaskGroup() as tasks:
                for _ in range(max(1, self._limits.jobs)):
                    tasks.create_task(work())
        finally:
            self._exploration.left_out += pending
            order = {plan.name: number for number, plan in enumerate(plans)}
            self._exploration.findings.sort(key=lambda finding: order[finding.plan.name])
            self._exploration.seconds = time.monotonic() - began

    def _is_over(self, seconds: float) -> bool:
        if self._limits.exit_first and any(each.is_certain for each in self._exploration.findings):
            return True
        return seconds > self._limits.budget

    async def _plan(self, plan: Plan) -> Finding | None:
        """Run a plan, and once more if it shows something."""
        expected = await self._ways.expected(plan)
        result = None if expected is None else await self._run(plan, expected)
        if expected is None or result is None or (plan.steps and result.is_refused):
            self._exploration.not_struck.append(plan)
            return None
        if result.error:
            self._exploration.failed.append((plan, result.error))
            return None
        finding = judges.judge(plan, result, expected)
        if finding is not None and plan.same_as:
            expected = await self._ways.expected(plan, times=2)
            finding = judges.judge(plan, result, expected) if expected is not None else None
        if finding is None or expected is None:
            (self._exploration.passed if result.struck else self._exploration.not_struck).append(
                plan
            )
            return None
        same = judges.judge(plan, await self._run(plan, expected), expected)
        finding = finding._replace(is_certain=same is not None)
        self._exploration.findings.append(_without_bodies(finding))
        return finding

    async def _run(self, plan: Plan, expected: Expected) -> Result:
        return await self._runner.run(self._start, plan, expected)


def _without_bodies(finding: Finding) -> Finding:
    """Return a finding with its last requests only, without their bodies."""
    if finding.result is not None:
        for step in finding.result.steps:
            step.requests = _last(step.requests)
    return finding._replace(requests=_last(finding.requests))


def _last(records: Sequence[RequestRecord]) -> list[RequestRecord]:
    return [record._replace(sent=b"", answered=b"") for record in records[-KEPT_REQUESTS:]]
