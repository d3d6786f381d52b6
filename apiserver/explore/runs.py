"""One run of a scenario on a server of its own, disturbed by one plan or by none.

The server, its clock and its store are in this process. The controller reaches it over HTTP, so
every HTTP request is one of the controller. Steps of the user come from the client in the process.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inkube.apiserver import access, manifests
from inkube.apiserver.explore import controllers
from inkube.apiserver.explore.controllers import Running
from inkube.apiserver.explore.observations import is_write
from inkube.apiserver.explore.plans import Plan
from inkube.apiserver.explore.scenarios import Action, Scenario, Target
from inkube.apiserver.explore.states import State, state_of
from inkube.apiserver.http import RequestRecord
from inkube.apiserver.registry import keys
from inkube.apiserver.server import APIServer, Options
from inkube.apiserver.sources import Snapshot
from inkube.apiserver.testing import TestLog, patience
from inkube.controllers.clock import FakeClock
from inkube.schemas.objects import Object
from inkube.schemas.status import Reason, StatusError

POLL_SECONDS = 0.05
"""Seconds between looks at a controller that tells nothing of itself."""
START_SECONDS = 60.0
"""The time in which a controller opens its first watch, or sends its first request."""
FIRST_CALM_SECONDS = 1.0
"""The least time without a write after which a step of an undisturbed run has ended."""
IDLE_SHARE = 0.1
"""The most processor time of an idle controller, as a share of the time that passes."""
CALM_SECONDS = 0.3
"""Time without a write after which the state is compared with the expected one."""
MANAGER = "inkube-explore"
"""The field manager of a user's steps."""
LABEL = "explore.inkube.dev/touched"
"""The label that "somebody else" sets."""
FAULTS = "world.inkube.dev/v1/faults"


@dataclass(slots=True)
class StepResult:
    """How a step ended."""

    state: State
    requests: list[RequestRecord]
    converged: bool
    """Whether the time limit did not end it."""
    seconds: float
    deleted: frozenset[str] = frozenset()
    """Objects that were removed during the step, as `kind namespace/name`."""


@dataclass(slots=True)
class Result:
    """A finished run. A run ends with the first step whose state is not the expected one."""

    steps: list[StepResult] = field(default_factory=list)
    struck: bool = True
    """Whether the disturbance of the plan took place."""
    exit_code: int | None = None
    """The exit code of a controller that ended by itself."""
    log: str = ""
    """The end of the controller's output."""
    history: list[str] = field(default_factory=list)
    """The last changes of objects, as text."""
    snapshot: Snapshot | None = None
    error: str = ""
    """Why the run could not be carried out."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The end states of the undisturbed run, by step, and the places that differ by chance."""

    states: Sequence[State]
    seconds: Sequence[float]
    masked: frozenset[Any]


async def run(
    scenario: Scenario,
    start: Snapshot,
    folder: Path,
    plan: Plan | None = None,
    expected: Expected | None = None,
) -> Result:
    """Run a scenario from the state `start`. Files of the run are in `folder`, which is
    created."""
    log = TestLog()
    clock = FakeClock(getattr(start, "taken", None), ticking=True)
    options = Options(
        offline=True, retry_seconds=0.0, snapshot=start, clock=clock, record_bodies=True,
        on_request=log.hear_request, workloads=scenario.workloads or None,
    )  # fmt: skip
    async with APIServer(options) as server:
        following = log.record(server.store)
        with contextlib.closing(following):
            current = _Run(scenario, server, log, folder, plan, expected)
            result = await current.whole()
            result.snapshot = await server.snapshot()
            return result


async def prepared(scenario: Scenario) -> Snapshot:
    """Return the state before the controller starts: definitions and their objects. Raises
    ManifestError."""
    options = Options(offline=True, retry_seconds=0.0, workloads=scenario.workloads or None)
    async with APIServer(options) as server:
        found = manifests.read(scenario.definitions)
        await manifests.install(server.client, found, server.settled)
        await server.parts.defaults.create_all()  # not only in runs that ask for one of them
        await server.settled()
        return await server.snapshot()


class _Run:
    def __init__(
        self,
        scenario: Scenario,
        server: APIServer,
        log: TestLog,
        folder: Path,
        plan: Plan | None,
        expected: Expected | None,
    ) -> None:
        self._scenario = scenario
        self._server = server
        self._log = log
        self._output = folder / "controller.log"
        self._kubeconfig = folder / "kubeconfig"
        self._plan = plan
        self._expected = expected
        self._running: Running | None = None
        self._seen = 0
        self._next = 0

    async def whole(self) -> Result:
        """Run all steps. Ends with the first that does not end as expected."""
        self._kubeconfig.parent.mkdir()
        access.kubeconfig.write(self._kubeconfig, self._server.kubeconfig())
        result = Result()
        try:
            await self._start()
            while self._next < len(self._scenario.steps):
                step = await self._step(self._next, result)
                result.steps.append(step)
                if not step.converged:
                    break
        except (StatusError, OSError, TimeoutError) as error:
            result.error = f"{type(error).__name__}: {error}"
        finally:
            if self._running is not None:
                result.exit_code = self._running.exit_code
                await self._running.stop()
        result.log = controllers.tail(self._output)
        result.history = [str(change).strip() for change in self._log.history()]
        return result

    async def _step(self, index: int, result: Result) -> StepResult:
        """Carry out the step, with the disturbance of the plan if it belongs to it."""
        began, before = time.monotonic(), len(self._log.history())
        self._seen, self._next = len(self._log.requests), index + 1
        action, plan = self._scenario.steps[index], self._plan
        if plan is None or plan.step != index:
            await self._act(action)
            return await self._end(index, began, before)
        if plan.is_away:
            await self._kill()
        async with self._faults(plan) as names:
            await self._act(action)
            if plan.is_away:
                if plan.then == "next":
                    await self._act_next()
                await self._start()
            elif plan.then:
                result.struck = await self._held(names[0], plan)
            elif names:
                result.struck = await self._injected(names)
            ended = await self._end(self._next - 1, began, before)
        if plan.later_seconds and ended.converged:
            self._advance(plan.later_seconds)
            ended = await self._end(self._next - 1, began, before)
        return ended

    async def _act_next(self) -> None:
        await self._act(self._scenario.steps[self._next])
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
            await self._interfere(plan)
        await self._server.client.delete(FAULTS, fault)
        if plan.then == "crash":
            await self._start()
        return True

    async def _interfere(self, plan: Plan) -> None:
        """Do what somebody else does to the object of the held request."""
        client, (resource, namespace, name) = self._server.client, plan.target
        with contextlib.suppress(StatusError):  # the object is gone: that is the other race
            if plan.then == "label":
                patch = {"metadata": {"labels": {LABEL: "yes"}}}
                await client.patch(resource, name, namespace, patch=patch)
            elif plan.then == "delete":
                await client.delete(resource, name, namespace)

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
        changes = self._log.history()[before:]
        deleted = frozenset(_name(each.object) for each in changes if each.type == "DELETED")
        return StepResult(
            self._state(), list(self._log.requests[self._seen :]), converged,
            time.monotonic() - began, deleted,
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
        """Return whether no object and no write of the controller occurs for `seconds`, and, if
        the end is not known, whether the controller seems to be idle."""
        revision, writes, worked = self._server.store.revision, self._writes(), self._worked()
        try:
            async with asyncio.timeout(seconds):
                await self._server.store.reached(revision + 1)
        except TimeoutError:
            is_idle = self._worked() - worked < IDLE_SHARE * seconds
            return self._writes() == writes and (is_idle or self._expected is not None)
        return False

    def _worked(self) -> float:
        """The processor time of the controller."""
        return 0.0 if self._running is None else self._running.processor_seconds()

    def _writes(self) -> int:
        return sum(map(is_write, self._log.requests))

    def _is_as_expected(self, index: int) -> bool:
        expected = self._expected
        if expected is None:
            return True
        return not expected.states[index].differences(self._state(), expected.masked)

    def _limit(self, index: int) -> float:
        """Seconds for a step: the scenario's limit, more if the undisturbed run was slow."""
        taken = self._expected.seconds[index] if self._expected else 0.0
        return max(patience.limit(self._scenario.converged.within), 3 * taken)

    def _state(self) -> State:
        entries = self._server.store.list(keys.ROOT)
        return state_of((_untouched(entry.value) for entry in entries), self._scenario.ignore)

    async def _act(self, action: Action) -> None:
        """Carry out a step of the user. Raises StatusError."""
        client = self._server.client
        for obj in action.objects:
            placed = manifests.with_namespace(client, obj)
            await manifests.apply(client, manifests.Manifest(action.text, placed))
        if action.patch is not None:
            target = action.patch
            await client.patch(
                target.resource, target.name, target.namespace, patch=target.patch, type=target.type
            )
        if action.delete is not None:
            await self._delete(action.delete)
        if action.advance:
            self._advance(action.advance)

    async def _delete(self, target: Target) -> None:
        try:
            await self._server.client.delete(target.resource, target.name, target.namespace)
        except StatusError as error:
            if error.reason != Reason.NOT_FOUND:
                raise

    def _advance(self, seconds: float) -> None:
        clock = self._server.clock
        assert isinstance(clock, FakeClock), "runs have a clock that moves"
        clock.advance(seconds)

    async def _start(self) -> None:
        """Start the controller, and wait until it watches or has sent a request."""
        before = len(self._log.requests)
        self._running = await self._scenario.controller.start(self._kubeconfig, self._output)
        deadline = time.monotonic() + patience.limit(START_SECONDS)
        while not self._server.streams.open() and len(self._log.requests) == before:
            if self._running.exit_code is not None:
                raise OSError(f"the controller ended at its start, with {self._running.exit_code}")
            if time.monotonic() > deadline:
                raise TimeoutError(f"the controller sent no request in {START_SECONDS:g} s")
            await asyncio.sleep(POLL_SECONDS / 5)

    async def _kill(self) -> None:
        if self._running is not None:
            await self._running.kill()
            self._running = None

    @asynccontextmanager
    async def _faults(self, plan: Plan) -> AsyncIterator[list[str]]:
        """Create the Faults of a plan, and delete them at the end."""
        client, names = self._server.client, []
        for spec in plan.faults:
            body = {
                "apiVersion": "world.inkube.dev/v1",
                "kind": "Fault",
                "metadata": {"generateName": "explore-"},
                "spec": spec,
            }
            names.append((await client.create(body))["metadata"]["name"])
        try:
            yield names
        finally:
            for name in names:
                with contextlib.suppress(StatusError):  # a held one is deleted already
                    await client.delete(FAULTS, name)


def _untouched(obj: Object) -> Object:
    """Return an object without the label of "somebody else"."""
    meta = obj["metadata"]
    labels = meta.get("labels") or {}
    if LABEL not in labels:
        return obj
    kept = {name: value for name, value in labels.items() if name != LABEL}
    bare = {name: value for name, value in meta.items() if name != "labels"}
    return {**obj, "metadata": {**bare, "labels": kept} if kept else bare}


def _name(obj: Object) -> str:
    meta = obj["metadata"]
    where = f"{meta['namespace']}/" if meta.get("namespace") else ""
    return f"{obj['kind']} {where}{meta['name']}"
