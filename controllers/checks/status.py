"""What a finished run means for an object's status, and the one patch that says so.

The patch is empty when nothing changed: an unconditional write would wake the controller again.
`health.checked` and times of conditions move only together with something else.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from inkube.controllers.client import Object
from inkube.schemas import meta
from inkube.schemas.fielderrors import FieldError, Type

READY = "Ready"
AVAILABLE = "Available"
INVALID_SPEC = "InvalidSpec"
SERVICE_UNAVAILABLE = "ServiceUnavailable"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a run found: its errors, the Ready condition's reason, further members of status.

    A member that is None is removed.
    """

    errors: Sequence[FieldError]
    reason: str
    members: Object = field(default_factory=dict)

    @property
    def is_healthy(self) -> bool:
        """No check found anything."""
        return not self.errors

    @property
    def messages(self) -> list[str]:
        """One line per error, for people."""
        return [f"{error.field}: {error.detail}" for error in self.errors]


def reason_of(errors: Sequence[FieldError]) -> str:
    """The Ready condition's reason where a kind does not say it better itself."""
    if not errors:
        return AVAILABLE
    if all(error.type == Type.INTERNAL for error in errors):
        return SERVICE_UNAVAILABLE
    return INVALID_SPEC


def patch(obj: Object, verdict: Verdict, now: datetime) -> list[Object]:
    """The JSON patch of the status subresource that makes it true; [] when it is true already."""
    status = obj.get("status") or {}
    wanted = _wanted(obj, status, verdict, now=now)
    changes = {name: value for name, value in wanted.items() if status.get(name) != value}
    if not changes:
        return []
    changes["health"] = {**wanted["health"], "checked": int(now.timestamp() * 1000)}
    operations: list[Object] = [
        {"op": "test", "path": "/metadata/uid", "value": obj["metadata"]["uid"]}
    ]
    if not isinstance(obj.get("status"), dict):
        operations.append({"op": "add", "path": "/status", "value": {}})
    return operations + [
        operation for name, value in changes.items() for operation in _set(status, name, value)
    ]


def _set(status: Object, name: str, value: Any) -> list[Object]:
    path = f"/status/{name}"
    if value is not None:
        return [{"op": "add", "path": path, "value": value}]
    return [{"op": "remove", "path": path}] if name in status else []


def _wanted(obj: Object, status: Object, verdict: Verdict, *, now: datetime) -> Object:
    generation = obj["metadata"].get("generation", 0)
    old_health = status.get("health") or {}
    return {
        "fieldErrors": [error.item() for error in verdict.errors],
        "observedGeneration": generation,
        "health": {
            "healthy": verdict.is_healthy,
            "checked": old_health.get("checked", 0),
            "message": verdict.messages,
        },
        "conditions": _conditions(status.get("conditions") or [], verdict, generation, now=now),
        **verdict.members,
    }


def _conditions(
    old: list[Object], verdict: Verdict, generation: int, *, now: datetime
) -> list[Object]:
    """The conditions with Ready brought up to date; other people's stay where they are."""
    wanted: Object = {
        "type": READY,
        "status": "True" if verdict.is_healthy else "False",
        "reason": verdict.reason,
        "message": "; ".join(verdict.messages),
        "observedGeneration": generation,
    }
    before = next((condition for condition in old if condition.get("type") == READY), None)
    moment = meta.format_time(now)
    if before is not None and before.get("status") == wanted["status"]:
        moment = before.get("lastTransitionTime", moment)
    wanted["lastTransitionTime"] = moment
    if before is None:
        return [*old, wanted]
    return [wanted if condition is before else condition for condition in old]
