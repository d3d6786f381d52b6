"""Undisturbed runs: where a scenario ends, and what differs by chance."""

from dataclasses import replace

import orjson

from inkube.apiserver.explore.plans import Plan
from inkube.apiserver.explore.results import Expected, Result, StepResult
from inkube.apiserver.explore.runners import Runner
from inkube.apiserver.explore.scenarios import Scenario
from inkube.apiserver.sources import Snapshot


class ExplorationError(RuntimeError):
    """The undisturbed runs do not converge, or differ, so that nothing can be compared."""


async def undisturbed(scenario: Scenario, runner: Runner, start: Snapshot) -> Result:
    """Run a scenario without a disturbance. Raises ExplorationError if it does not work."""
    result = await runner.run(start)
    if result.error:
        raise ExplorationError(f"the undisturbed run failed: {result.error}\n{result.log}")
    if result.failed:
        raise ExplorationError(f"without any disturbance, {result.failed}:\n{result.log}")
    if result.exit_code is not None:
        raise ExplorationError(f"the controller ended with {result.exit_code}:\n{result.log}")
    if result.broken:
        raise ExplorationError("without any disturbance, " + "; ".join(result.broken))
    for action, step in zip(scenario.steps, result.steps, strict=False):
        if not step.converged:
            within = scenario.converged.within
            raise ExplorationError(
                f"without any disturbance, {action.text!r} does not come to rest in {within:g} s:"
                f" set converged.within and converged.quiet, or see the log:\n{result.log}"
            )
    return result


def expected(first: Result, second: Result) -> Expected:
    """Return how runs have to end. What differs between two undisturbed runs is not compared.
    Raises ExplorationError if objects differ."""
    masked = frozenset(
        difference.place
        for one, other in zip(first.steps, second.steps, strict=True)
        for difference in one.state.differences(other.state)
    )
    if any(not place.path for place in masked):
        names = ", ".join(sorted(place.object for place in masked if not place.path))
        raise ExplorationError(
            f"two undisturbed runs end with different objects: {names};"
            " leave their resources out with `ignore`"
        )
    pairs = list(zip(first.steps, second.steps, strict=True))
    return Expected(
        [step.state for step in first.steps],
        [max(one.seconds, other.seconds) for one, other in pairs],
        [step.writes for step in first.steps],
        masked,
        [step.deleted for step in first.steps],
    )


class OtherWays:
    """How runs have to end whose user takes another way than the scenario."""

    def __init__(self, runner: Runner, start: Snapshot, usual: Expected) -> None:
        self._runner = runner
        self._start = start
        self._usual = usual
        self._ends: dict[bytes, list[StepResult]] = {}

    async def expected(self, plan: Plan, *, times: int = 1) -> Expected | None:
        """Return how a plan has to end; None if its steps do not end without a disturbance.

        Steps of its own are run that number of `times`. What differs between them is not compared.
        """
        usual = self._usual
        if not plan.steps:
            return usual
        many = len(plan.steps)
        seconds, writes, masked = [max(usual.seconds)] * many, max(usual.writes), usual.masked
        if not plan.same_as:
            state = usual.states[plan.step]
        else:
            ends = await self._direct(plan, times)
            if len(ends) < times:
                return None
            state, writes = ends[0].state, max(writes, *(end.writes for end in ends), 0)
            seconds = [max(*seconds, *(end.seconds for end in ends))] * many
            for end in ends[1:]:
                masked |= {each.place for each in ends[0].state.differences(end.state)}
        return Expected([*[None] * (many - 1), state], seconds, [writes] * many, masked)

    async def _direct(self, plan: Plan, times: int) -> list[StepResult]:
        """Return the ends of runs of `same_as`; fewer if one does not come to rest."""
        key = orjson.dumps([action.document() for action in plan.same_as])
        ends = self._ends.setdefault(key, [])
        while len(ends) < times:
            result = await self._runner.run(self._start, replace(plan, steps=plan.same_as))
            is_over = len(result.steps) == len(plan.same_as) and result.steps[-1].converged
            if result.error or result.exit_code is not None or not is_over:
                break
            ends.append(result.steps[-1])
        return ends
