"""Kinds whose objects are jobs: a job is claimed, run and reported, and then put away.

    async def boil(job, progress, env):
        for minute in range(job.spec.minutes):
            await progress.report(minute, of=job.spec.minutes)
        return {"state": "success", "message": "boiled"}

    KindModule(Boiling, work=Work(boil))

`status` shows the progress: `state` is pending, working, then the result (success, warning or
error); `started` and `finished` are in milliseconds since the epoch; `progress` is from 0 to 100,
and `progressUpdates` is the number of its updates. Jobs with the same `turn` run one after the
other. If a server stopped during a job, the job starts again. A finished job is not repeated: it
is put away, for example archived or deleted. Deleting a waiting job ends it. A running job
finishes first.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

from inkube.controllers.client import Object
from inkube.controllers.environment import Environment
from inkube.controllers.informer import Key
from inkube.controllers.manager import Controller, Result, Watch
from inkube.schemas import models
from inkube.schemas.status import StatusError

FINAL = ("success", "warning", "error")
CONCURRENCY = 64
"""The number of jobs at a time. Jobs mostly wait for outside systems or for the job before them."""
SECONDS = 1.0
"""The shortest interval between two writes of progress, in seconds of the environment's clock."""


class Progress:
    """The progress of one job. `report` writes it if it increased, but not too often."""

    def __init__(self, write: Callable[[Object], Awaitable[None]], env: Environment) -> None:
        self._write = write
        self._clock = env.clock
        self._write_time = env.clock.monotonic()
        self._percent = 0
        self.updates = 0

    async def report(self, done: int, *, of: int, message: str = "") -> None:
        """Report that `done` of `of` parts are finished."""
        percent = min(99, 100 * done // of) if of > 0 else 0
        now = self._clock.monotonic()
        if percent <= self._percent or now - self._write_time < SECONDS:
            return
        self._write_time, self._percent = now, percent
        self.updates += 1
        status: Object = {"progress": percent, "progressUpdates": self.updates}
        await self._write({**status, "message": message} if message else status)


Do = Callable[[Any, Progress, Environment], Awaitable[Object]]
"""`async def do(job, progress, env)`: returns the members of the final status, with `state`."""


async def _keep_finished(obj: Object, env: Environment) -> None:
    """Do nothing: finished jobs of most kinds stay until a client deletes them."""


def _own_key(obj: Object) -> Key:
    return Key.of(obj)


@dataclass(frozen=True, slots=True)
class Work:
    """The work for the objects of a kind.

    `turn`: jobs with the same value run one after the other. `labels`: labels during the work, by
    the time of day. `put_away`: called with a finished job.
    """

    do: Do
    turn: Callable[[Object], Key] = _own_key
    labels: Callable[[int], dict[str, str]] = lambda now: {}
    put_away: Callable[[Object, Environment], Awaitable[None]] = _keep_finished

    def controller(self, model: type[models.Resource], env: Environment) -> Controller:
        """Return the controller that runs each job one time."""
        watch = Watch(model.gvr, lambda change: [] if change.old else [Key.of(change.object)])
        name = f"{model.gvr.resource}.{model.gvr.group} runner"
        runner = _Runner(self, model, env)
        return Controller(name, runner.reconcile, (watch,), concurrency=CONCURRENCY)


class _Runner:
    """Runs the jobs of one kind."""

    def __init__(self, work: Work, model: type[models.Resource], env: Environment) -> None:
        self._work = work
        self._model = model
        self._env = env
        self._turns: WeakValueDictionary[Key, asyncio.Lock] = WeakValueDictionary()

    async def reconcile(self, key: Key) -> Result | None:
        """Run one job when no earlier job with the same `turn` is unfinished."""
        try:
            obj = await self._get(key)
            turn = self._turns.setdefault(self._work.turn(obj), asyncio.Lock())
            async with turn:
                await self._carry_out(await self._get(key))
        except StatusError as error:
            if error.code != 404:  # 404: a client deleted the job, which ends it
                raise
        return None

    async def _get(self, key: Key) -> Object:
        return await self._env.client.get(self._model.gvr, key.name, key.namespace)

    async def _carry_out(self, obj: Object) -> None:
        if is_done(obj):
            await self._work.put_away(obj, self._env)
            return
        if not (obj.get("status") or {}).get("state"):
            obj = await self._write_status(obj, {"state": "pending"})
        now = self._now()
        labels = self._work.labels(now)
        if labels:
            obj = await self._patch(obj, {"metadata": {"labels": labels}}, "")
        obj = await self._write_status(obj, {"state": "working", "started": now})

        async def write(status: Object) -> None:
            await self._write_status(obj, status)

        progress = Progress(write, self._env)
        final = await self._work.do(models.parse(self._model, obj), progress, self._env)
        ended = {"finished": self._now(), "progress": 100, "progressUpdates": progress.updates + 1}
        await self._work.put_away(await self._write_status(obj, {**ended, **final}), self._env)

    async def _write_status(self, obj: Object, status: Object) -> Object:
        return await self._patch(obj, {"status": status}, "status")

    async def _patch(self, obj: Object, patch: Object, subresource: str) -> Object:
        """Patch the job with this uid, but not a newer job with the same name."""
        metadata = obj["metadata"]
        patch = {**patch, "metadata": {**patch.get("metadata", {}), "uid": metadata["uid"]}}
        return await self._env.client.patch(
            self._model.gvr,
            metadata["name"],
            metadata.get("namespace", ""),
            patch=patch,
            subresource=subresource,
        )

    def _now(self) -> int:
        return int(self._env.clock.now().timestamp() * 1000)


def is_done(obj: Object) -> bool:
    """Return whether a job is finished."""
    return (obj.get("status") or {}).get("state") in FINAL
