"""One run of a scenario on a server of its own, disturbed by one plan or by none.

The server, its clock and its store are in this process. The controller reaches it over HTTP, so
every HTTP request is one of the controller. Steps of the user come from the client in the process.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from inkube.apiserver.explore import acting, controllers, judges, space
from inkube.apiserver.explore.actions import Action
from inkube.apiserver.explore.controllers import Running, Suite
from inkube.apiserver.explore.objectplans import Space
from inkube.apiserver.explore.observations import Read, is_write, leases, reads
from inkube.apiserver.explore.plans import Plan
from inkube.apiserver.explore.results import Expected, Result, StepResult
from inkube.apiserver.explore.scenarios import InProcess, Scenario
from inkube.apiserver.explore.stepping import (
    KUBECONFIG,
    SteppedRun,
    install,
    recorded,
    write_kubeconfig,
)
from inkube.apiserver.server import APIServer, Options
from inkube.apiserver.sources import Snapshot
from inkube.apiserver.testing import TestLog, patience
from inkube.controllers.clock import FakeClock

OUTPUT = "controller.log"
POLL_SECONDS = 0.05
"""Seconds between looks at a controller that tells nothing of itself."""
START_SECONDS = 60.0
"""The time in which a controller opens its first watch, or sends its first request."""
FIRST_CALM_SECONDS = 1.0
"""The least time without a write after which a step of an undisturbed run has ended."""
IDLE_SHARE = 0.1
"""The most processor time of an idle controller, as a share of the time that passes."""
MISSED_SECONDS = 1.0
"""How long a watch shows something else than what happens, after the step."""
LONGEST_LEASE = 20.0
"""The longest time in which a controller notices that its lease is lost."""
CALM_SECONDS = 0.3
"""Time without a write after which the state is compared with the expected one."""


async def run(
    scenario: Scenario,
    start: Snapshot,
    folder: Path,
    plan: Plan | None = None,
    expected: Expected | None = None,
) -> Result:
    """Run a scenario from the state `start`. Files of the run are in `folder`, which is
    created."""
    log, result = TestLog(), Result()
    taken = getattr(start, "taken", None) or datetime.now(UTC)
    ahead = plan.clock_seconds if plan is not None else 0.0
    clock = FakeClock(taken + timedelta(seconds=ahead), ticking=True)
    async with (
        APIServer(replace(options(scenario, start, log), clock=clock)) as server,
        recorded(server, scenario, log, result) as changes,
    ):
        await _Run(scenario, server, log, changes, plan, expected).whole(result, folder)
    return result


def options(scenario: Scenario, start: Snapshot, log: TestLog) -> Options:
    """Return the options of a server in the state `start`, with a log of its requests."""
    return Options(
        offline=True, retry_seconds=0.0, snapshot=start, record_bodies=True,
        on_request=log.record_request, workloads=scenario.workloads or None,
    )  # fmt: skip


async def prepared(scenario: Scenario) -> tuple[Snapshot, Space]:
    """Return the state before the controller starts, with definitions and their objects, and other
    values for the objects of the steps. Raises ManifestError."""
    options = Options(offline=True, retry_seconds=0.0, workloads=scenario.workloads or None)
    async with APIServer(options) as server:
        await install(server, scenario)
        await server.settled()
        return await server.snapshot(), await space.of_steps(server, scenario.steps)


class _Run(SteppedRun):
    _folder: Path
    """The files of the run."""
    _running: Running | None = None
    _seen = _acted = _next = 0

    async def whole(self, result: Result, folder: Path) -> None:
        """Run all steps. Ends with the first that does not end as expected."""
        self._folder, self._watched = folder, dict[Read, None]()
        write_kubeconfig(self._server, folder)
        try:
            with self._ending(result):
                await self._start()
                while self._next < len(self._steps):
                    step = await self._step(self._next, result)
                    result.steps.append(step)
                    if not step.converged:
                        break
        finally:
            if self._running is not None:
                result.exit_code = self._running.exit_code
                await self._running.stop()
        result.reads = reads(self._log.requests)
        result.watched = list(self._watched)
        result.leases = leases(self._log.requests)
        result.log = controllers.tail(folder / OUTPUT)

    async def _step(self, index: int, result: Result) -> StepResult:
        """Carry out the step, with the disturbance of the plan if it belongs to it."""
        began, before = time.monotonic(), len(self._log.history())
        self._acted = self._server.store.revision
        self._seen, self._next = len(self._log.requests), index + 1
        action, plan = self._steps[index], self._plan
        if plan is None or plan.step != index:
            await acting.act(self._server, action)
            return await self._end(index, began, before)
        if plan.then == "restart":
            await acting.act(self._server, action)
            ended = await self._end(index, began, before)
            if not ended.converged:
                return ended
        async with acting.faults(self._server, plan.faults) as names:
            await self._disturbed(plan, action, names, result)
            ended = await self._end(self._next - 1, began, before)
        if plan.later_seconds and ended.converged:
            acting.advance(self._server, plan.later_seconds)
            ended = await self._end(self._next - 1, began, before)
        return ended

    async def _disturbed(
        self, plan: Plan, action: Action, names: Sequence[str], result: Result
    ) -> None:
        """Carry out the step and the disturbance. The result says whether that took place."""
        if plan.unobserved:
            result.struck = await self._unobserved(plan, action, names[0])
        elif plan.is_away:
            await self._kill()
            await acting.act(self._server, action)
            if plan.then == "next":
                await self._act_next()
            await self._start()
        elif plan.then == "restart":
            await self._kill()
            await self._start()
            result.struck = await self._injected(names)
        elif plan.then == "lease":
            result.struck = await self._without_lease(plan, action, result)
        elif plan.then in ("wait", "refuse"):
            result.struck = await self._failing(plan, action, names[0], result)
        else:
            await acting.act(self._server, action)
            if plan.then:
                result.struck = await self._held(names[0], plan)
            elif names:
                result.struck = await self._injected(names)

    async def _unobserved(self, plan: Plan, action: Action, fault: str) -> bool:
        """Let a watch show something else than what happens during the step. Returns whether there
        is such a watch."""
        is_held = "hold" in plan.faults[0]
        acting.end_watches(self._server, plan.unobserved)
        found = await self._until(fault, lambda counts: counts[2 if is_held else 1] > 0)
        await acting.act(self._server, action)
        if plan.then == "next":
            await self._act_next()
        if not is_held:
            await asyncio.sleep(MISSED_SECONDS)
        await acting.end_fault(self._server, fault)
        if not is_held:
            acting.end_watches(self._server, plan.unobserved)
        return found

    async def _failing(self, plan: Plan, action: Action, fault: str, result: Result) -> bool:
        """Let requests fail for a while, and count them. Returns whether there is one."""
        if plan.then == "refuse":
            acting.end_all_watches(self._server)
        await acting.act(self._server, action)
        found = await self._injected([fault])
        await asyncio.sleep(judges.OUTAGE_SECONDS)
        result.hot = self._matched(fault)
        await acting.end_fault(self._server, fault)
        if plan.then == "refuse":
            await self._restart()
        return found

    async def _without_lease(self, plan: Plan, action: Action, result: Result) -> bool:
        """Give the lease to somebody else, and count the writes of the controller after the time
        in which it may not know that. Returns whether it had a lease."""
        _, namespace, name = plan.target
        deadline = time.monotonic() + self._limit(self._next - 1)
        while (seconds := await acting.take_lease(self._server, namespace, name)) is None:
            if time.monotonic() > deadline:
                await acting.act(self._server, action)
                return False
            await asyncio.sleep(POLL_SECONDS)
        await asyncio.sleep(min(seconds, LONGEST_LEASE) + MISSED_SECONDS)
        before = self._writes()
        await acting.act(self._server, action)
        await asyncio.sleep(MISSED_SECONDS)
        result.unled = self._writes() - before
        await acting.release_lease(self._server, namespace, name)
        await self._restart()
        return True

    async def _restart(self) -> None:
        """Start a controller that has ended by itself again, as a Deployment would."""
        if self._running is not None and self._running.exit_code is not None:
            await self._running.stop()
            await self._start()

    async def _act_next(self) -> None:
        await acting.act(self._server, self._steps[self._next])
        self._next += 1

    async def _held(self, fault: str, plan: Plan) -> bool:
        """Wait until a request is held, and do what the plan says while it waits. Returns whether
        a request was held."""
        if not await self._until(fault, lambda counts: counts[2] > 0):
            return False
        if plan.then == "crash":
            await self._kill()
        elif plan.then == "next":
            await self._act_next()
        else:
            await acting.interfere(self._server, plan)
        await acting.end_fault(self._server, fault)
        if plan.then == "crash":
            await self._start()
        if plan.foreign is not None:
            await asyncio.sleep(judges.OUTAGE_SECONDS)
            await acting.withdraw(self._server, plan)
        return True

    def _matched(self, fault: str) -> int:
        counts = self._server.faults.counted(fault)
        return 0 if counts is None else counts[0]

    async def _injected(self, faults: Sequence[str]) -> bool:
        return await self._until(faults[0], lambda counts: counts[1] > 0)

    async def _until(self, fault: str, holds: Any) -> bool:
        """Wait until the counts of a fault meet a condition; False if the controller becomes quiet
        before that."""
        deadline = time.monotonic() + self._limit(self._next - 1)
        while time.monotonic() < deadline:
            counts = self._server.faults.counted(fault)
            if counts is not None and holds(counts):
                return True
            if self._running is not None and self._running.exit_code is not None:
                return False
            await asyncio.sleep(POLL_SECONDS / 5)
        return False

    async def _end(self, index: int, began: float, before: int) -> StepResult:
        converged = await self._converge(index)
        for each in self._server.streams.open():
            self._watched[Read(each.group, each.resource)] = None
        changes = self._log.history()[before:]
        deleted = frozenset(acting.named(each.object) for each in changes if each.type == "DELETED")
        requests = list(self._log.requests[self._seen :])
        return StepResult(
            self._state(), requests, converged, time.monotonic() - began, index, deleted,
            sum(map(is_write, requests)),
            range(self._acted, self._server.store.revision + 1),
        )  # fmt: skip

    async def _converge(self, index: int) -> bool:
        """Wait until nothing is written any more, and, if the end is known, until it is reached.

        Returns whether that happened within the limit."""
        quiet = CALM_SECONDS
        if self._expected is None:  # there is no end to compare with
            quiet = max(FIRST_CALM_SECONDS, self._scenario.converged.quiet)
        deadline = time.monotonic() + self._limit(index)
        while time.monotonic() < deadline:
            await self._server.settled(patience.limit(60.0))
            if await self._is_quiet(quiet) and self._is_as_expected(index):
                return True
            if self._running is not None and self._running.exit_code is not None:
                return False
        return False

    async def _is_quiet(self, seconds: float) -> bool:
        """Return whether no change that counts and no write of the controller occurs for
        `seconds`, and, if the end is not known, whether the controller seems to be idle."""
        store, changes = self._server.store, self._changes.number
        writes, worked = self._writes(), self._worked()
        try:
            async with asyncio.timeout(seconds):
                while self._changes.number == changes:
                    await store.reached(store.revision + 1)
        except TimeoutError:
            is_idle = self._worked() - worked < IDLE_SHARE * seconds
            return self._writes() == writes and (is_idle or self._expected is not None)
        return False

    def _worked(self) -> float:
        """Return the processor time of the controller."""
        return 0.0 if self._running is None else self._running.processor_seconds()

    def _writes(self) -> int:
        return sum(map(is_write, self._log.requests))

    def _limit(self, index: int) -> float:
        """Return seconds for a step: the scenario's limit, more if the undisturbed run was slow, or
        if a controller waits for the lease of a killed one."""
        taken = self._expected.seconds[index] if self._expected else 0.0
        limit = max(patience.limit(self._scenario.converged.within), 3 * taken)
        return limit + acting.lease_seconds(self._server, leases(self._log.requests))

    async def _start(self) -> None:
        """Start the controller, and wait until it watches or has sent a request."""
        before = len(self._log.requests)
        controller = self._scenario.controller
        assert not isinstance(controller, InProcess | Suite), "these are not restarted"
        kubeconfig, output = self._folder / KUBECONFIG, self._folder / OUTPUT
        self._running = await controller.start(kubeconfig, output)
        deadline = time.monotonic() + patience.limit(START_SECONDS)
        while not self._server.streams.open() and len(self._log.requests) == before:
            if self._running.exit_code is not None:
                raise OSError(
                    f"the controller ended at its start, with exit code {self._running.exit_code}"
                )
            if time.monotonic() > deadline:
                raise TimeoutError(f"the controller sent no request in {START_SECONDS:g} s")
            await asyncio.sleep(POLL_SECONDS / 5)

    async def _kill(self) -> None:
        if self._running is not None:
            await self._running.kill()
            self._running = None
