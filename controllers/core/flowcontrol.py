"""Writes the condition of flow schemas about the existence of their priority levels.

Follows apiserver/pkg/util/flowcontrol/apf_controller.go (syncFlowSchemaStatus). A condition that
others change back again is written six times a minute at most (shouldDelayUpdate).
"""

from collections import deque
from collections.abc import Iterator
from datetime import datetime, timedelta

from inkube.controllers.client import Client, Object, apply_status
from inkube.controllers.informer import Change, Informer, Key
from inkube.controllers.manager import Controller, Manager, Result, Watch
from inkube.schemas import meta
from inkube.schemas.clock import Clock
from inkube.schemas.golang import quote
from inkube.schemas.meta import GVR

_GROUP = "flowcontrol.apiserver.k8s.io"
SCHEMAS = GVR(_GROUP, "v1", "flowschemas")
LEVELS = GVR(_GROUP, "v1", "prioritylevelconfigurations")
DANGLING = "Dangling"
_MANAGER = "api-priority-and-fairness-config-consumer-v1"
_WRITES = 6
_MINUTE = timedelta(minutes=1)


class DanglingController:
    """Writes one condition of every flow schema."""

    def __init__(
        self, client: Client, clock: Clock, *, schemas: Informer, levels: Informer
    ) -> None:
        self._client = client
        self._clock = clock
        self._schemas = schemas
        self._levels = levels
        self._by_level = schemas.index(_levels)
        self._writes: dict[Key, deque[datetime]] = {}
        """The times of the last writes of each schema."""

    async def reconcile(self, key: Key) -> Result | None:
        """Check whether the priority level of one flow schema exists."""
        schema = self._schemas.get(key)
        if schema is None:
            self._writes.pop(key, None)
            return None
        found = self._condition(schema)
        old = (schema.get("status") or {}).get("conditions") or []
        before = next((one for one in old if one.get("type") == DANGLING), None)
        if before is not None and all(before.get(name) == found[name] for name in found):
            return None
        now = self._clock.now()
        writes = self._writes.setdefault(key, deque(maxlen=_WRITES))
        if len(writes) == _WRITES and now - writes[0] < _MINUTE:
            return Result(requeue_after=(writes[0] + _MINUTE - now).total_seconds())
        writes.append(now)
        found["lastTransitionTime"] = meta.format_time(now)
        await apply_status(self._client, SCHEMAS, schema, {"conditions": [found]}, manager=_MANAGER)
        return None

    def affected_keys(self, change: Change) -> Iterator[Key]:
        """Yield the flow schemas that name a changed priority level."""
        yield from self._by_level.keys(change.object["metadata"]["name"])

    def _condition(self, schema: Object) -> Object:
        name = _level(schema)
        text = (
            f"This FlowSchema references the PriorityLevelConfiguration object named {quote(name)}"
        )
        if self._levels.get(Key("", name)) is None:
            message = f"{text} but there is no such object"
            return {"type": DANGLING, "status": "True", "reason": "NotFound", "message": message}
        message = f"{text} and it exists"
        return {"type": DANGLING, "status": "False", "reason": "Found", "message": message}


def _levels(schema: Object) -> Iterator[str]:
    yield _level(schema)


def _level(schema: Object) -> str:
    spec = schema.get("spec") or {}
    return str((spec.get("priorityLevelConfiguration") or {}).get("name", ""))


def add(manager: Manager) -> None:
    """Add the controller to the manager."""
    schemas, levels = manager.informers.of(SCHEMAS), manager.informers.of(LEVELS)
    controller = DanglingController(manager.client, manager.clock, schemas=schemas, levels=levels)
    manager.add(
        Controller(
            "flow-schemas",
            controller.reconcile,
            (Watch(SCHEMAS), Watch(LEVELS, controller.affected_keys)),
            concurrency=1,
            everywhere=True,
            gives_time=True,
        )
    )
