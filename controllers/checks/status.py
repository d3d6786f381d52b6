"""The status that results from a finished run, as one patch.

The patch is empty if nothing changed, because each write triggers the controller again.
`health.checked` and times of conditions move only together with something else.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from inkube.controllers.client import Object
from inkube.schemas import meta
from inkube.schemas.fielderrors import OMITTED, FieldError, Type
from inkube.schemas.objects import same

READY = "Ready"
UNAVAILABLE = "Resource is unavailable"
HEALTH = "health"
"""The value of `health.error` if a check found something and the kind has no better text."""
AVAILABLE = "Available"
INVALID_SPEC = "InvalidSpec"
SERVICE_UNAVAILABLE = "ServiceUnavailable"


class Finding(NamedTuple):
    """A condition of a kind, without its time and generation, which this module adds."""

    type: str
    is_true: bool
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a run: its errors, the reason of the Ready condition, further members of
    status.

    A member that is None is removed. `findings` are conditions in addition to Ready. `error` is the
    value of `health.error` if the run has errors.
    """

    errors: Sequence[FieldError]
    reason: str
    members: Object = field(default_factory=dict)
    findings: Sequence[Finding] = ()
    error: str = HEALTH

    @property
    def is_healthy(self) -> bool:
        """Whether the run has no errors."""
        return not self.errors

    @property
    def messages(self) -> list[str]:
        """One line for each error, for users."""
        return [error.detail or error.message() for error in self.errors]

    @property
    def ready(self) -> Finding:
        """The Ready condition."""
        if self.is_healthy:
            return Finding(READY, True, self.reason, "Resource is available")
        return Finding(READY, False, self.reason, next(iter(self.messages), UNAVAILABLE))


def reason_of(errors: Sequence[FieldError]) -> str:
    """Return the default reason of the Ready condition, for kinds without their own reasons."""
    if not errors:
        return AVAILABLE
    if all(error.type == Type.INTERNAL for error in errors):
        return SERVICE_UNAVAILABLE
    return INVALID_SPEC


def patch(obj: Object, verdict: Verdict, now: datetime) -> list[Object]:
    """Return the JSON patch of the status subresource for a verdict; [] if the status already has
    it."""
    status = obj.get("status") or {}
    wanted = _desired(obj, status, verdict, now=now)
    changes = {name: value for name, value in wanted.items() if status.get(name) != value}
    if not changes:
        return []
    changes["health"] = {**wanted["health"], "checked": int(now.timestamp() * 1000)}
    operations: list[Object] = [
        {"op": "test", "path": "/metadata/uid", "value": obj["metadata"]["uid"]}
    ]
    if "conditions" in changes and "conditions" in status:  # others write some of them
        test = {"op": "test", "path": "/status/conditions", "value": status["conditions"]}
        operations.append(test)
    if not isinstance(obj.get("status"), dict):
        operations.append({"op": "add", "path": "/status", "value": {}})
    return operations + [
        operation for name, value in changes.items() for operation in _set(status, name, value)
    ]


def is_overwritten(obj: Object, verdict: Verdict) -> bool:
    """Return whether the status has another verdict about the generation of the object."""
    status = obj.get("status") or {}
    health = status.get("health") or {}
    found = (
        status.get("observedGeneration"), status.get("fieldErrors"), health.get("healthy"),
        health.get("message") or [],
    )  # fmt: skip
    return found != (
        obj["metadata"].get("generation", 0),
        [error.item() for error in verdict.errors],
        verdict.is_healthy,
        [] if verdict.is_healthy else verdict.messages,
    )


def forget_changed(obj: Object, old: Object) -> None:
    """Remove the errors of fields that a write changed, in place: they were about other values.

    The errors of other fields stay until the object is checked again. An error of a field that
    neither object has, such as one that only a form has, goes with any change.
    """
    status = obj.get("status")
    errors = status.get("fieldErrors") if isinstance(status, dict) else None
    if not isinstance(errors, list):
        return
    kept = [error for error in errors if _still_holds(error.get("field"), obj, old)]
    if len(kept) < len(errors):
        obj["status"] = {**obj["status"], "fieldErrors": kept}


def _still_holds(field: str | None, obj: Object, old: Object) -> bool:
    if not field:
        return True
    new, before = value_at(obj, field), value_at(old, field)
    return new is not OMITTED and before is not OMITTED and same(new, before)


def value_at(obj: Object, path: str) -> Any:
    """Return the value of an object at a path, such as `spec.a[0].b`; OMITTED without a value."""
    current: Any = obj
    for name, position in re.findall(r"([^.\[\]]+)|\[(\d+)\]", path):
        if name and isinstance(current, dict) and name in current:
            current = current[name]
        elif position and isinstance(current, list) and int(position) < len(current):
            current = current[int(position)]
        else:
            return OMITTED
    return current


def _set(status: Object, name: str, value: Any) -> list[Object]:
    path = f"/status/{name}"
    if value is not None:
        return [{"op": "add", "path": path, "value": value}]
    return [{"op": "remove", "path": path}] if name in status else []


def _desired(obj: Object, status: Object, verdict: Verdict, *, now: datetime) -> Object:
    generation = obj["metadata"].get("generation", 0)
    old_health = status.get("health") or {}
    health: Object = {"healthy": verdict.is_healthy, "checked": old_health.get("checked", 0)}
    if not verdict.is_healthy:
        health |= {"error": verdict.error, "message": verdict.messages}
    return {
        "fieldErrors": [error.item() for error in verdict.errors],
        "observedGeneration": generation,
        "health": health,
        "conditions": conditions(obj, (verdict.ready, *verdict.findings), now),
        **verdict.members,
    }


def conditions(obj: Object, findings: Sequence[Finding], now: datetime) -> list[Object]:
    """Return the object's conditions with the findings. Conditions of other clients do not
    change."""
    old = (obj.get("status") or {}).get("conditions") or []
    generation = obj["metadata"].get("generation", 0)
    found = {condition.get("type"): condition for condition in old}
    for finding in findings:
        before, is_true = found.get(finding.type), "True" if finding.is_true else "False"
        moment = meta.format_time(now)
        if before is not None and before.get("status") == is_true:
            moment = before.get("lastTransitionTime", moment)
        found[finding.type] = {
            "type": finding.type,
            "status": is_true,
            "reason": finding.reason,
            "message": finding.message,
            "observedGeneration": generation,
            "lastTransitionTime": moment,
        }
    return list(found.values())
