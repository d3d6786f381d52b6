"""The two ways to run a scenario: with a controller outside of the server, or those inside it."""

import asyncio
import itertools
import shutil
from pathlib import Path
from typing import Protocol

from inkube.apiserver.explore import (
    inprocess,
    momentplans,
    objectplans,
    observations,
    planning,
    runs,
    suites,
)
from inkube.apiserver.explore.controllers import Suite
from inkube.apiserver.explore.objectplans import Space
from inkube.apiserver.explore.plans import Plan
from inkube.apiserver.explore.results import Expected, Result
from inkube.apiserver.explore.scenarios import InProcess, Scenario
from inkube.apiserver.sources import Snapshot


class Runner(Protocol):
    """Runs one scenario, disturbed or not."""

    async def prepared(self) -> Snapshot:
        """Return the state before the first step. Raises ManifestError."""
        ...

    async def run(
        self, start: Snapshot, plan: Plan | None = None, expected: Expected | None = None
    ) -> Result:
        """Run the scenario from a state."""
        ...

    def plans(self, first: Result, second: Result, seed: int | None) -> list[Plan]:
        """Return the plans that follow from two undisturbed runs; empty if nothing was written.
        The seed selects those that are random."""
        ...


def runner(scenario: Scenario, folder: Path) -> Runner:
    """Return what runs a scenario. Its files are in a folder."""
    if isinstance(scenario.controller, InProcess):
        return Inside(scenario)
    return (OfSuite if isinstance(scenario.controller, Suite) else Outside)(scenario, folder)


class Outside:
    """A controller that reaches the server over HTTP, with a kubeconfig."""

    _run = staticmethod(runs.run)

    def __init__(self, scenario: Scenario, folder: Path) -> None:
        self._scenario = scenario
        self._folder = folder
        self._numbers = itertools.count()
        self._space: Space = {}

    async def prepared(self) -> Snapshot:
        start, self._space = await runs.prepared(self._scenario)
        return start

    async def run(
        self, start: Snapshot, plan: Plan | None = None, expected: Expected | None = None
    ) -> Result:
        folder = self._folder / str(next(self._numbers))
        try:
            return await self._run(self._scenario, start, folder, plan, expected)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def plans(self, first: Result, second: Result, seed: int | None) -> list[Plan]:
        one, other = (
            observations.occurrences([step.requests for step in result.steps])
            for result in (first, second)
        )
        writes = observations.common(one, other)
        if not writes:
            return []
        others = objectplans.plans(self._scenario.steps, self._space, seed)
        return planning.plans(self._scenario, writes, first, others)


class OfSuite(Outside):
    """A test suite, which is run once for each plan."""

    _run = staticmethod(suites.run)

    def plans(self, first: Result, second: Result, seed: int | None) -> list[Plan]:
        assert isinstance(self._scenario.controller, Suite), "see `runner`"
        return suites.plans(self._scenario.controller, first, second)


class Inside:
    """Controllers of the server. Restarts begin with a state of the first undisturbed run."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._history: Snapshot | None = None
        self._space: Space = {}
        self._lock = asyncio.Lock()
        """Only one run at a time, because the log of the process shows its errors."""

    async def prepared(self) -> Snapshot:
        start, self._space = await inprocess.prepared(self._scenario)
        return start

    async def run(
        self, start: Snapshot, plan: Plan | None = None, expected: Expected | None = None
    ) -> Result:
        if plan is not None and plan.moment is not None:
            assert self._history is not None, "plans with a moment come from `plans`"
            start = self._history
        async with self._lock:
            return await inprocess.run(self._scenario, start, plan, expected)

    def plans(self, first: Result, second: Result, seed: int | None) -> list[Plan]:
        self._history = first.snapshot
        others = objectplans.plans(self._scenario.steps, self._space, seed)
        return momentplans.plans(self._scenario, first, others)
