"""Controllers in the server itself: kinds declared in Python, modules, simulated workloads.

They need no kubeconfig and no process. A crash loses what a server has in memory and keeps its log,
so every revision of the undisturbed run is a state in which a server can be killed, and another one
started: a plan begins with the state of a revision, and nothing is run twice. Other plans let the
requests of controllers fail, or wait. The clock jumps over times in which nothing happens.
"""

import asyncio
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime

from inkube.apiserver.explore import acting, actions, space
from inkube.apiserver.explore.objectplans import Space
from inkube.apiserver.explore.plans import Moment, Plan
from inkube.apiserver.explore.results import Expected, Result, StepResult
from inkube.apiserver.explore.scenarios import InProcess, Scenario
from inkube.apiserver.explore.stepping import SteppedRun, install, recorded
from inkube.apiserver.server import APIServer, Options
from inkube.apiserver.sources import Snapshot
from inkube.apiserver.testing import TestLog, patience
from inkube.controllers.clock import FakeClock
from inkube.schemas.status import StatusError

JUMPS = (1.0, 4.0, 15.0, 40.0)
"""Seconds by which the clock moves, while nothing happens, until a step has ended."""
ROUNDS = 10
"""How often the jumps are repeated, until a controller counts as stuck or restless."""
SETTLED_SECONDS = 10.0
"""The longest real time in which controllers come to rest: retries within a second are work."""
MOST_CHANGES = 1000
"""After so many changes without a rest, controllers count as restless …"""
LOOK_SECONDS = 0.1
"""… which is looked at this often."""
IDLE_LOOKS = 20
"""After so many looks at idle controllers, the request that a plan disturbs will not come."""


async def prepared(scenario: Scenario) -> tuple[Snapshot, Space]:
    """Return the state before the first step, with definitions, their objects and what controllers
    make of them, and other values for the objects of the steps. Raises ManifestError."""
    async with APIServer(_options(scenario, None, None)) as server:
        await install(server, scenario)
        with acting.counted(server) as changes:
            await _Run(scenario, server, TestLog(), changes, None, None).converge(0)
        return await server.snapshot(), await space.of_steps(server, scenario.steps)


async def run(
    scenario: Scenario, start: Snapshot, plan: Plan | None = None, expected: Expected | None = None
) -> Result:
    """Run a scenario from the state `start`, or, if the plan has a moment, the rest of it."""
    log, result = TestLog(), Result()
    moment = plan.moment if plan is not None else None
    taken = start.taken
    if moment is not None:
        start, taken = _at(start, moment), moment.time
    with _errors() as errors:
        async with (
            APIServer(_options(scenario, start, taken)) as server,
            recorded(server, scenario, log, result) as changes,
        ):
            await _Run(scenario, server, log, changes, plan, expected).whole(result)
    result.errors = errors
    return result


def _options(scenario: Scenario, start: Snapshot | None, taken: datetime | None) -> Options:
    assert isinstance(scenario.controller, InProcess)
    clock = FakeClock(taken, ticking=True)
    chosen = Options(offline=True, retry_seconds=0.0, clock=clock, snapshot=start,
                     workloads=scenario.workloads or None)  # fmt: skip
    return replace(chosen, **scenario.controller.options)


def _at(whole: Snapshot, moment: Moment) -> Snapshot:
    """Return the state at a moment, from a snapshot that still has the history."""
    records = [record for record in whole.log.records if record.revision <= moment.revision]
    return replace(whole, log=whole.log._replace(records=records), taken=moment.time)


class _Run(SteppedRun):
    async def whole(self, result: Result) -> None:
        """Run the steps. Ends with the first that does not end as expected."""
        moment = self._plan.moment if self._plan is not None else None
        with self._ending(result):
            index = moment.step if moment is not None else 0
            while index < len(self._steps):
                index = await self._step(index, result, is_done=moment is not None)
                moment = None
                if not result.steps[-1].converged:
                    break

    async def _step(self, index: int, result: Result, *, is_done: bool) -> int:
        """Carry out a step, unless it `is_done` before the restart. Returns the next one."""
        began, before, counted = time.monotonic(), len(self._log.history()), self._changes.number
        plan = self._plan if self._plan is not None and self._plan.step == index else None
        if not is_done:
            async with acting.faults(self._server, plan.faults if plan else ()) as names:
                if plan is not None and plan.unobserved:
                    acting.end_watches(self._server, plan.unobserved)
                    await asyncio.sleep(0)  # the informers notice it
                    acting.advance(self._server, JUMPS[0])  # and watch again after a while
                    result.struck = await self._is_met(plan, names[0])
                await self._act(index)
                acted = self._server.store.revision, self._server.clock.now()
                if plan is not None and plan.unobserved and plan.then == "next":
                    await self._act(index + 1)
                elif plan is not None and names and not plan.unobserved:
                    result.struck = await self._disturbed(plan, names[0])
        else:
            acted = self._server.store.revision, self._server.clock.now()
        if plan is not None and plan.then == "next":
            index += 1
            if not plan.faults:
                await self._act(index)
        converged = await self.converge(index)
        if plan is not None and plan.later_seconds and converged:
            acting.advance(self._server, plan.later_seconds)
            converged = await self.converge(index)
        changes = self._log.history()[before:]
        result.steps.append(
            StepResult(
                self._state(), [], converged, time.monotonic() - began, index,
                frozenset(acting.named(each.object) for each in changes if each.type == "DELETED"),
                writes=self._changes.number - counted,
                revisions=range(acted[0], self._server.store.revision + 1),
                acted=acted[1],
            )
        )  # fmt: skip
        return index + 1

    async def _disturbed(self, plan: Plan, fault: str) -> bool:
        """Wait until a request meets the fault, and do what the plan says while it waits. Returns
        whether one did."""
        is_struck = await self._is_met(plan, fault)
        if plan.then == "next":
            await self._act(plan.step + 1)
        elif is_struck:
            await acting.interfere(self._server, plan)
        await acting.end_fault(self._server, fault)
        if plan.foreign is not None and is_struck:
            await self._settled()
            await acting.withdraw(self._server, plan)
        return is_struck

    async def _is_met(self, plan: Plan, fault: str) -> bool:
        """Wait until a request meets the fault. Returns False if the controllers become idle."""
        place = 2 if plan.faults[0].get("hold") else 1
        is_met, idle = False, 0
        while not is_met and idle < IDLE_LOOKS:
            await asyncio.sleep(0.001)
            counts = self._server.faults.counted(fault)
            is_met = counts is not None and counts[place] > 0
            idle = 0 if self._server.manager.is_working else idle + 1
        return is_met

    async def converge(self, index: int) -> bool:
        """Move the clock until nothing happens any more, and, if the end is known, until it is
        reached. Returns whether that is so in the end."""
        for _ in range(ROUNDS):
            if not await self._settled():
                return False
            if await self._is_quiet() and self._is_as_expected(index):
                return True
        return False

    async def _is_quiet(self) -> bool:
        """Move the clock by all jumps. Returns whether nothing changed meanwhile."""
        before = self._changes.number
        for seconds in JUMPS:
            acting.advance(self._server, seconds)
            if not await self._settled() or self._changes.number != before:
                return False
        return True

    async def _settled(self) -> bool:
        """Wait until controllers come to rest. Returns False if they write without end."""
        most = self._changes.number + MOST_CHANGES
        settled = asyncio.ensure_future(self._server.settled(patience.limit(SETTLED_SECONDS)))
        try:
            while not settled.done() and self._changes.number < most:
                await asyncio.wait([settled], timeout=LOOK_SECONDS)
            return settled.done() and settled.exception() is None
        finally:
            settled.cancel()
            await asyncio.gather(settled, return_exceptions=True)

    async def _act(self, index: int) -> None:
        await acting.act(self._server, actions.by_the_clock(self._steps[index]))


def _is_injected(error: BaseException) -> bool:
    return isinstance(error, StatusError) and "by a Fault" in error.message


@contextmanager
def _errors() -> Iterator[list[str]]:
    """Collect the exceptions that are logged as errors, without those of Faults."""
    found: list[str] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            error = record.exc_info[1] if record.exc_info else None
            if error is not None and not _is_injected(error):
                found.append(f"{record.getMessage()} ({type(error).__name__})")

    handler = Collector(logging.ERROR)
    own = logging.getLogger("inkube")  # `http.logs` separates it from the loggers of others
    loggers = [logging.getLogger()] if own.propagate else [logging.getLogger(), own]
    for logger in loggers:
        logger.addHandler(handler)
    try:
        yield found
    finally:
        for logger in loggers:
            logger.removeHandler(handler)
