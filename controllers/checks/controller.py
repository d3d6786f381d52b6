"""The controller for live checks, which maintains the errors of existing objects in their status.

An object is checked when it appears, when its generation changes, when an object on which it
depends changes (the watches of the kind), and after an interval, which is shorter for unhealthy
objects. The controller reports findings and outages after the first attempt. If an outside system
failed, it repeats the check with back-off before the interval ends.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from inkube.controllers.checks import status
from inkube.controllers.checks.run import CheckSet, Run
from inkube.controllers.checks.status import Finding, Verdict
from inkube.controllers.client import Object, get_or_none
from inkube.controllers.environment import Environment
from inkube.controllers.informer import Change, Key
from inkube.controllers.manager import Controller, Result, Watch
from inkube.schemas import models
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.status import StatusError

R = TypeVar("R", bound=models.Resource)

CONCURRENCY = 64
"""The number of objects of a kind that are checked at a time. Checks mostly wait for outside
systems."""

CORRECTION_SECONDS = 1.0
"""The shortest time between two checks of an object whose status another client overwrites."""

Static = Callable[[Object, Object | None], list[FieldError]]


async def _nothing_to_write(run: Run[Any], errors: Sequence[FieldError]) -> list[Object]:
    return []


async def _no_members(run: Run[Any], errors: Sequence[FieldError]) -> Object:
    return {}


def _no_limit(obj: Any, interval: float) -> float:
    return interval


def _no_findings(run: Run[Any], errors: Sequence[FieldError]) -> Sequence[Finding]:
    return ()


async def _uses_outside(run: Run[Any]) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Report:
    """How a kind reports the result of its checks.

    `reason`: the Ready condition's. `error`: `health.error`. `conditions`: additional ones.
    `members`: further members of status. `findings`: a JSON patch of the object itself, for values
    that the checks found (a default branch); while it is not empty the status waits.
    `interval`: the recheck interval of one object. `is_watched`: whether all sources of a healthy
    object's checks are watched; periodic rechecks are then skipped until a source changes.
    """

    reason: Callable[[Sequence[FieldError]], str] = status.reason_of
    error: Callable[[Sequence[FieldError]], str] = lambda errors: status.HEALTH
    conditions: Callable[[Run[Any], Sequence[FieldError]], Sequence[Finding]] = _no_findings
    members: Callable[[Run[Any], Sequence[FieldError]], Awaitable[Object]] = _no_members
    findings: Callable[[Run[Any], Sequence[FieldError]], Awaitable[list[Object]]] = (
        _nothing_to_write
    )
    interval: Callable[[Any, float], float] = _no_limit
    is_watched: Callable[[Run[Any]], Awaitable[bool]] = _uses_outside


@dataclass(slots=True)
class _OutageState:
    """An object with failing outside systems: the monotonic time since then, and the attempts."""

    since: float
    attempts: int = 0


class CheckReconciler(Generic[R]):
    """Reconciles one kind: runs its rules and checks, and patches the status if it changed."""

    def __init__(
        self, checks: CheckSet[R], static: Static, env: Environment, *, report: Report
    ) -> None:
        self._checks = checks
        self._static = static
        self._env = env
        self._report = report
        self._gvr = checks.model.gvr
        self._certain: dict[Key, tuple[float, Verdict]] = {}
        """Objects whose checks cannot have other results, with their intervals and verdicts."""
        self._recheck_keys: set[Key] = set()
        """Objects with a change since their last check."""
        self._written: dict[Key, tuple[int, Verdict]] = {}
        """The generations of objects, and the verdicts about them that this reconciler wrote."""
        self._overwritten: set[Key] = set()
        """Objects in whose status another client wrote another verdict."""
        self._corrected: dict[Key, float] = {}
        """The monotonic times of the last checks for this reason."""
        self._outages: dict[Key, _OutageState] = {}
        """Objects for which an outside system failed in their last check."""

    def controller(self, watches: Sequence[Watch] = ()) -> Controller:
        """Return the controller of the kind. Changes of `watches` also cause checks."""
        return Controller(
            name=f"{self._gvr.resource}.{self._gvr.group} checks",
            reconcile=self.reconcile,
            watches=(
                Watch(self._gvr, self._compare),
                *map(self._uncached, (Watch(self._gvr, changed_by_user), *watches)),
            ),
            concurrency=CONCURRENCY,
        )

    def _compare(self, change: Change) -> list[Key]:
        """Check an object again if another client wrote a wrong status."""
        key = Key.of(change.object)
        if change.new is None:
            for by_key in (self._certain, self._outages, self._written, self._corrected):
                by_key.pop(key, None)
            return []
        if key in self._certain:
            verdict = self._certain[key][1]
            if status.patch(change.new, verdict, self._env.clock.now()):
                del self._certain[key]
        generation, written = self._written.get(key, (None, None))
        if written is None or generation != change.new["metadata"].get("generation", 0):
            return []
        if not status.is_overwritten(change.new, written):
            return []
        self._overwritten.add(key)
        return [key]

    def _uncached(self, watch: Watch) -> Watch:
        """Return a copy of the watch whose changes discard cached results and restart back-off."""

        def keys(change: Change) -> list[Key]:
            found = list(watch.keys(change))
            for key in found:
                self._certain.pop(key, None)
                self._outages.pop(key, None)
                self._recheck_keys.add(key)
            return found

        return watch._replace(keys=keys)

    async def reconcile(self, key: Key) -> Result | None:
        """Check one object now."""
        if key in self._certain:
            return Result(self._certain[key][0])
        if key in self._overwritten:
            wait = self._corrected.get(key, -CORRECTION_SECONDS) + CORRECTION_SECONDS
            wait -= self._env.clock.monotonic()
            if wait > 0:
                return Result(wait)
            self._overwritten.discard(key)
            self._corrected[key] = self._env.clock.monotonic()
        self._recheck_keys.discard(key)
        obj = await get_or_none(self._env.client, self._gvr, key.name, key.namespace)
        if obj is None:
            return None
        if obj["metadata"].get("deletionTimestamp"):
            self._outages.pop(key, None)
            return None
        return await self._check(obj)

    async def _check(self, obj: Object) -> Result:
        errors = self._static(obj, None)
        try:
            run = self._checks.open(obj, self._env)
        except models.Unreadable as error:
            await self._write(obj, Verdict(errors or error.errors, status.INVALID_SPEC))
            return Result(self._env.recheck.unhealthy)
        try:
            found = errors or await self._checks.evaluate(run)
            await self._env.pacer.wait()
            if await self._write_findings(run, found):
                return Result(self._env.recheck.unhealthy)
            members = await self._report.members(run, found)
            findings = self._report.conditions(run, found)
            reason, kind = self._report.reason(found), self._report.error(found)
            verdict = Verdict(found, reason, members, findings, kind)
            await self._write(obj, verdict)
            interval = self._env.recheck.after(is_healthy=not found)
            interval = self._report.interval(run.object, interval)
            is_certain = not found and await self._report.is_watched(run)
        finally:
            await run.memo.close()
        key = Key.of(obj)
        if is_certain and key not in self._recheck_keys:
            self._certain[key] = interval, verdict
        return Result(self._next_check(key, run, interval))

    def _next_check(self, key: Key, run: Run[R], interval: float) -> float:
        """Return seconds until the next check: earlier than the interval if an outside system
        failed."""
        if not run.retries:
            self._outages.pop(key, None)
            return interval
        now = self._env.clock.monotonic()
        failing = self._outages.setdefault(key, _OutageState(now))
        delays = [
            retry.delay(failing.attempts)
            for retry in run.retries
            if failing.attempts + 1 < retry.attempts
        ]
        failing.attempts += 1
        soonest = min(delays, default=interval)
        total = min(self._env.retry_seconds, max(retry.total for retry in run.retries))
        return interval if now - failing.since + soonest > total else min(soonest, interval)

    async def _write_findings(self, run: Run[R], errors: Sequence[FieldError]) -> bool:
        operations = await self._report.findings(run, errors)
        if operations:
            await self._patch(run.raw, operations)
        return bool(operations)

    async def _write(self, obj: Object, verdict: Verdict) -> None:
        self._written[Key.of(obj)] = obj["metadata"].get("generation", 0), verdict
        base = obj
        for is_last in (False, False, True):
            operations = status.patch(base, verdict, self._env.clock.now())
            try:
                if operations and await self._patch(base, operations, subresource="status"):
                    await self._record_event(obj, verdict)
            except StatusError:
                newest = await self._newest(obj)
                if is_last or newest is None or _version(newest) == _version(base):
                    raise
                base = newest  # somebody else wrote conditions since it was read
            else:
                return

    async def _patch(self, obj: Object, operations: list[Object], subresource: str = "") -> bool:
        """Patch the object, unless it was deleted or changed by a user since it was read: it is
        then checked again. Returns whether it was patched."""
        metadata = obj["metadata"]
        name, namespace = metadata["name"], metadata.get("namespace", "")
        try:
            await self._env.client.patch(
                self._gvr, name, namespace, patch=operations, type="json", subresource=subresource
            )
        except StatusError:
            if await self._is_outdated(obj):
                return False
            raise
        return True

    async def _is_outdated(self, obj: Object) -> bool:
        found = await self._newest(obj)
        return found is None or _identity(found) != _identity(obj)

    async def _newest(self, obj: Object) -> Object | None:
        metadata = obj["metadata"]
        name, namespace = metadata["name"], metadata.get("namespace", "")
        return await get_or_none(self._env.client, self._gvr, name, namespace)

    async def _record_event(self, obj: Object, verdict: Verdict) -> None:
        before = obj.get("status") or {}
        errors = [error.item() for error in verdict.errors]
        # a write can have removed the last errors: the health then still tells of them
        was_healthy = not before.get("observedGeneration") or before["health"].get("healthy", True)
        if errors == (before.get("fieldErrors") or []) and was_healthy == verdict.is_healthy:
            return
        await self._env.pacer.wait()
        if verdict.is_healthy:
            await self._env.events.normal(obj, "ChecksPassed", "all live checks passed")
        else:
            await self._env.events.warning(obj, "ChecksFailed", "; ".join(verdict.messages))


def changed_by_user(change: Change) -> list[Key]:
    """Return the key of the object if its uid, generation or deletionTimestamp changed."""
    if change.new is None:
        return []
    if change.old is not None and _identity(change.old) == _identity(change.new):
        return []
    return [Key.of(change.new)]


def _version(obj: Object) -> str:
    return str(obj["metadata"]["resourceVersion"])


def _identity(obj: Object) -> tuple[Any, ...]:
    metadata = obj["metadata"]
    return metadata.get("uid"), metadata.get("generation"), metadata.get("deletionTimestamp")
