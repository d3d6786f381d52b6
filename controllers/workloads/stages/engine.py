"""The engine: for each object it chooses one stage that selects the object, waits, and plays it.

Playing a stage executes its steps. The engine is level-based: after a change of an object, the
waiting stage keeps its due time if it still selects the object; otherwise the engine chooses again.
The changes of a stage cause the next event. Follows KWOK's
pkg/kwok/controllers/stage_controller.go and pkg/utils/lifecycle.
"""

import logging
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from inkube.client import GVR, Client, Object
from inkube.controllers.core import Kind
from inkube.controllers.workloads.stages import stage as stages
from inkube.controllers.workloads.stages.gotemplates import Function, RunError
from inkube.controllers.workloads.stages.native import Natives
from inkube.controllers.workloads.stages.stage import Stage
from inkube.kinds import (
    Change,
    Clock,
    Controller,
    Key,
    Manager,
    Recorder,
    Result,
    StatusError,
    Watch,
)
from inkube.schemas.lazy import Lazy

logger = logging.getLogger(__name__)

STAGES = "kwok.x-k8s.io/v1alpha1/stages"
MAX_STAGES = 200
"""Stages of one kind that the engine plays, the first by name. It logs how many it omits."""
CHANGES, PERIOD = 10, 1.0
"""After CHANGES stages on one object within PERIOD seconds, the object must wait."""
PAUSE = 10.0
"""Seconds that an object waits after too many changes."""
CONCURRENCY = 32


class Preparation(NamedTuple):
    """The result of `Life.prepare`: whether it changed the object, and seconds until the next check
    (0: no check)."""

    has_changed: bool = False
    next_seconds: float = 0.0


NO_PREPARATION = Preparation()


class Life(Protocol):
    """The behavior of a kind next to its stages. `EveryObject` is for kinds with only stages."""

    def handles(self, obj: Object) -> bool:
        """Return whether stages can change the object."""
        ...

    def watches(self) -> tuple[Watch, ...]:
        """Return watches of other resources on which the stages of an object depend."""
        ...

    async def prepare(self, obj: Object) -> Preparation:
        """Make the changes that precede all stages."""
        ...

    def adjust(self, obj: Object, patch: Any) -> Any:
        """Return the patch of a stage, adjusted to the rules of the kind."""
        ...

    async def delete(self, obj: Object) -> None:
        """Delete the object immediately."""
        ...


class EveryObject:
    """The behavior of all other kinds: only stages, for all objects."""

    def __init__(self, client: Client, resource: GVR) -> None:
        self._client = client
        self._resource = resource

    def handles(self, obj: Object) -> bool:
        """Return True: stages can change every object."""
        return True

    def watches(self) -> tuple[Watch, ...]:
        """Return no watches, because only the object itself matters."""
        return ()

    async def prepare(self, obj: Object) -> Preparation:
        """Return NOTHING, without any change."""
        return NO_PREPARATION

    def adjust(self, obj: Object, patch: Any) -> Any:
        """Return the patch unchanged."""
        return patch

    async def delete(self, obj: Object) -> None:
        """Delete the object immediately, without a grace period."""
        await delete_now(self._client, self._resource, obj)


async def delete_now(client: Client, resource: GVR | str, obj: Object) -> None:
    """Delete the object with this uid, without a grace period."""
    meta = obj["metadata"]
    options = {"gracePeriodSeconds": 0, "preconditions": {"uid": meta["uid"]}}
    await client.delete(resource, meta["name"], meta.get("namespace", ""), options=options)


class Parts(NamedTuple):
    """The parts that the engine uses."""

    manager: Manager
    client: Client
    events: Recorder
    functions: Mapping[str, Function]
    natives: Natives
    builtin: Mapping[str, Object]
    """The specs of the built-in stages, by name, for which `natives` has functions."""
    find: Callable[[str, str], Kind | None]
    """(apiVersion, kind) → the served kind; None if it is not served."""
    lives: Mapping[tuple[str, str], Life]
    seed: int


class Engine:
    """Plays the stored stages. `add` adds its controller to the manager."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._players: dict[tuple[str, str], _Player] = {}
        self._read: dict[str, tuple[str, Stage | None]] = {}
        self._all = Key("", "stages")

    def add(self) -> None:
        """Add the controller that watches stages."""
        watch = Watch(STAGES, keys=lambda change: (self._all,))
        controller = Controller(
            "stages", self._sort, (watch,), concurrency=1, sources=(self._feed,)
        )
        self._parts.manager.add(controller)

    def _feed(self, add: Callable[[Key], None]) -> Callable[[], None]:
        add(self._all)
        return lambda: None

    async def _sort(self, key: Key) -> Result | None:
        """Assign the stages to their kinds, and start and stop the players of kinds."""
        informer = self._parts.manager.informers.of(STAGES)
        by_kind: dict[tuple[str, str], list[Stage]] = {}
        objects = sorted(informer.items(), key=lambda obj: str(obj["metadata"]["name"]))
        self._read = {
            name: known
            for name, known in self._read.items()
            if informer.get(Key("", name)) is not None
        }
        for obj in objects:
            stage = self._stage(obj)
            if stage is not None:
                by_kind.setdefault((stage.api_version, stage.kind), []).append(stage)
        missing = False
        for about in by_kind.keys() | self._players.keys():
            missing |= not await self._assign(about, by_kind.get(about, []))
        return Result(requeue_after=5.0) if missing else None

    def _stage(self, obj: Object) -> Stage | None:
        meta = obj["metadata"]
        name, version = meta["name"], meta["resourceVersion"]
        known = self._read.get(name)
        if known is None or known[0] != version:
            known = (version, self._compile(obj))
            self._read[name] = known
        return known[1]

    def _compile(self, obj: Object) -> Stage | None:
        name = obj["metadata"]["name"]
        try:
            stage = stages.read(obj, self._parts.functions)
        except ValueError as error:  # another version of the server stored it
            logger.warning("the stage %s cannot be played: %s", name, error)
            return None
        native = self._parts.natives.by_name.get(name)
        if native is None or self._parts.builtin.get(name) != obj["spec"]:
            return stage
        return stages.with_native(stage, native, native.status)

    async def _assign(self, about: tuple[str, str], compiled: list[Stage]) -> bool:
        """Assign stages to the player of a kind. Returns False if the kind is not served yet."""
        player = self._players.get(about)
        if not compiled and player is not None:
            del self._players[about]
            await self._parts.manager.remove(player.name)
            return True
        kind = self._parts.find(*about)
        if kind is None:
            logger.info("stages of %s %s wait until it is served", *about)
            return False
        if len(compiled) > MAX_STAGES:
            logger.warning("%d stages of %s are left out", len(compiled) - MAX_STAGES, about[1])
            compiled = compiled[:MAX_STAGES]
        if player is None:
            life = self._parts.lives.get(about) or EveryObject(self._parts.client, kind.resource)
            player = _Player(self._parts, kind.resource, life)
            player.stages = compiled
            self._players[about] = player
            self._parts.manager.add(player.controller())
        elif player.stages != compiled:
            player.stages = compiled
            player.look_at_all()
        return True


class _ScheduledStage(NamedTuple):
    """A chosen stage and its due time in seconds of the monotonic clock."""

    uid: str
    stage: Stage
    due: float


class _Player:
    """Plays the stages of one kind on its objects."""

    def __init__(self, parts: Parts, resource: GVR, life: Life) -> None:
        self._parts = parts
        self._resource = resource
        self._life = life
        self._clock: Clock = parts.manager.clock
        self._informer = parts.manager.informers.of(resource)
        self.name = f"stages-{resource.resource}.{resource.group}"
        self.stages: list[Stage] = []
        self._scheduled: dict[Key, _ScheduledStage] = {}
        self._written: dict[Key, int] = {}
        self._changes: dict[Key, list[float]] = {}
        self._add: Callable[[Key], None] = lambda key: None

    def controller(self) -> Controller:
        """Return the controller for the manager."""
        watch = Watch(self._resource, keys=self._keys)
        return Controller(
            self.name,
            self._reconcile,
            (watch, *self._life.watches()),
            concurrency=CONCURRENCY,
            sources=(self._feed,),
        )

    def look_at_all(self) -> None:
        """Reconcile every object, because the stages changed."""
        for obj in self._informer.items():
            self._add(Key.of(obj))

    def _feed(self, add: Callable[[Key], None]) -> Callable[[], None]:
        self._add = add
        return lambda: None

    def _keys(self, change: Change) -> Iterable[Key]:
        """Return the changed object, unless it is new and no stage can change it, such as a pod
        without a node."""
        if change.old is None and change.new is not None and not self._life.handles(change.new):
            return ()
        return (Key.of(change.object),)

    async def _reconcile(self, key: Key) -> Result | None:
        obj = self._informer.get(key)
        if obj is None:
            self._forget(key)
            return None
        if int(obj["metadata"]["resourceVersion"]) < self._written.get(key, 0):
            return None  # the event of the engine's own write follows
        if not self._life.handles(obj):
            self._forget(key)
            return None
        before = await self._life.prepare(obj)
        if before.has_changed:
            return None
        result = await self._advance(key, obj)
        waits = [
            wait for wait in (before.next_seconds, result.requeue_after if result else 0) if wait
        ]
        return Result(requeue_after=min(waits)) if waits else None

    async def _advance(self, key: Key, obj: Object) -> Result | None:
        """Choose a stage and play it when due. Repeat this after immediateNextStage."""
        for _ in range(CHANGES):
            waiting = self._schedule(key, obj)
            if waiting is None:
                return None
            left = waiting.due - self._clock.monotonic()
            if left > 0:
                return Result(requeue_after=left)
            if self._is_restless(key):
                return await self._pause(key, obj, waiting.stage)
            self._scheduled.pop(key, None)
            changed = await self._play(key, obj, waiting.stage)
            if changed is None or not waiting.stage.is_immediate:
                return None
            obj = changed
        return Result(requeue_after=PAUSE)

    def _schedule(self, key: Key, obj: Object) -> _ScheduledStage | None:
        uid = obj["metadata"].get("uid", "")
        waiting = self._scheduled.get(key)
        if waiting is not None and waiting.uid == uid and waiting.stage in self.stages:
            selector = waiting.stage.selector
            if selector is not None and selector.matches(obj):
                return waiting
        chance = Lazy(lambda: self._chance(key, obj))
        stage = stages.choose_stage(self.stages, obj, chance)
        if stage is None:
            self._scheduled.pop(key, None)
            return None
        delay = stage.delay.seconds(obj, self._clock.now(), chance)
        found = _ScheduledStage(uid, stage, self._clock.monotonic() + delay)
        self._scheduled[key] = found
        return found

    def _chance(self, key: Key, obj: Object) -> random.Random:
        """Return random numbers for an object. Their seed is its name and state, so that the order
        of objects does not change the result."""
        generation = obj["metadata"].get("generation")
        phase = (obj.get("status") or {}).get("phase")
        return random.Random(  # noqa: S311 # jitter needs no secrecy
            f"{self._parts.seed}/{self._resource}/{key.namespace}/{key.name}/{generation}/{phase}"
            f"/{len(self._changes.get(key, ()))}"
        )

    def _is_restless(self, key: Key) -> bool:
        """Return whether the object had CHANGES stages within PERIOD seconds; if not, count one
        more."""
        now = self._clock.monotonic()
        times = [time for time in self._changes.get(key, ()) if now - time < PERIOD]
        if len(times) >= CHANGES:
            return True
        self._changes[key] = [*times, now]
        return False

    async def _pause(self, key: Key, obj: Object, stage: Stage) -> Result:
        text = f"{CHANGES} stages within a second, the next ({stage.name}) waits {PAUSE:g} s"
        await self._parts.events.warning(obj, "StageLoop", text)
        self._changes.pop(key, None)
        self._scheduled[key] = self._scheduled[key]._replace(due=self._clock.monotonic() + PAUSE)
        return Result(requeue_after=PAUSE)

    async def _play(self, key: Key, obj: Object, stage: Stage) -> Object | None:
        """Execute the steps. Returns the changed object; None if it may be deleted or a step
        failed."""
        now: Object | None = obj
        for step in stage.steps:
            try:
                now = await self._step(now or obj, step)
            except RunError as error:
                await self._parts.events.warning(
                    obj, "StageFailed", f"stage {stage.name} cannot be played: {error}"
                )
                return None
            except StatusError as error:
                if error.code in (404, 409):
                    return None  # deleted or changed: an event follows
                if error.code in (400, 403, 422):  # an error of the stage: a retry fails, too
                    await self._parts.events.warning(
                        obj, "StageFailed", f"stage {stage.name} was refused: {error.message}"
                    )
                    return None
                raise
            if now is not None:
                self._written[key] = int(now["metadata"]["resourceVersion"])
        return now

    async def _step(self, obj: Object, step: stages.Step) -> Object | None:
        actions: dict[type, Callable[[Object, Any], Awaitable[Object | None]]] = {
            stages.Event: self._record_event,
            stages.Finalizers: self._set_finalizers,
            stages.Delete: self._delete,
            stages.Patch: self._patch,
            stages.Apply: self._apply,
        }
        return await actions[type(step)](obj, step)

    async def _record_event(self, obj: Object, event: stages.Event) -> Object:
        record = (
            self._parts.events.warning if event.type == "Warning" else self._parts.events.normal
        )
        await record(obj, event.reason, event.message)
        return obj

    async def _set_finalizers(self, obj: Object, change: stages.Finalizers) -> Object:
        meta = obj["metadata"]
        before = meta.get("finalizers") or []
        after = [] if change.empty else [one for one in before if one not in change.remove]
        after += [one for one in change.add if one not in after]
        if after == before:
            return obj
        wanted = {"finalizers": after, "resourceVersion": meta["resourceVersion"]}
        return await self._parts.client.patch(
            self._resource, meta["name"], meta.get("namespace", ""), patch={"metadata": wanted}
        )

    async def _delete(self, obj: Object, step: stages.Delete) -> Object | None:
        await self._life.delete(obj)
        return None

    async def _patch(self, obj: Object, step: stages.Patch) -> Object:
        value = step.render(obj)
        if value is None:
            return obj
        if step.type != "json":
            value = {step.root: value} if step.root else value
            if not isinstance(value, dict):
                raise RunError("the template wrote no object")
            value = self._life.adjust(obj, value)
        meta = obj["metadata"]
        return await self._parts.client.patch(
            self._resource,
            meta["name"],
            meta.get("namespace", ""),
            patch=value,
            type=step.type,
            subresource=step.subresource,
        )

    async def _apply(self, obj: Object, step: stages.Apply) -> Object:
        other = step.render(obj)
        if not isinstance(other, dict) or not other.get("kind"):
            raise RunError("the template wrote no object with a kind")
        meta = other.get("metadata") or {}
        if not meta.get("name"):
            raise RunError("the template wrote no name")
        kind = self._parts.find(other.get("apiVersion", ""), other["kind"])
        if kind is None:
            raise RunError(f"{other.get('apiVersion')} {other['kind']} is not served")
        namespace = meta.get("namespace") or obj["metadata"].get("namespace") or "default"
        await self._parts.client.patch(
            kind.resource,
            meta["name"],
            namespace if kind.namespaced else "",
            patch=other,
            type=step.type,
            subresource=step.subresource,
            field_manager="kubelet",
            force=step.type == "apply",
        )
        return obj

    def _forget(self, key: Key) -> None:
        self._scheduled.pop(key, None)
        self._written.pop(key, None)
        self._changes.pop(key, None)
