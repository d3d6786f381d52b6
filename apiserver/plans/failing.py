"""Which conditions and containers started to fail between two states of an object."""

import re
from collections.abc import Iterator

from inkube.schemas.objects import Object

_BAD_IF_TRUE = re.compile(
    r"(Pressure|Unavailable|Failed|Failure|Stalled|Degraded|Error|Errors|Resizing|Target|Terminating)$"
)
"""Types of conditions that say that something is wrong. For all other types, False does
(api-conventions.md, Typical status properties)."""
_NEUTRAL = frozenset({"Complete", "SuccessCriteriaMet", "Suspended", "ScalingLimited", "Approved"})
"""Types whose status is neither good nor bad."""
_WAITING = frozenset({"ContainerCreating", "PodInitializing"})
"""Reasons of containers that wait as usual."""


def started(old: Object | None, new: Object | None) -> list[str]:
    """Return what fails in the new state and did not in the old one."""
    before = {name for name, _ in _failures(old or {})}
    return [
        f"{name}: {why}" if why else name
        for name, why in _failures(new or {})
        if name not in before
    ]


def _failures(obj: Object) -> Iterator[tuple[str, str]]:
    status = obj.get("status")
    if not isinstance(status, dict):
        return
    for each in status.get("conditions") or ():
        if isinstance(each, dict) and _fails(each):
            yield f"{each['type']} is {each['status']}", _why(each)
    for member in ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"):
        for each in status.get(member) or ():
            state = (each.get("state") or {}) if isinstance(each, dict) else {}
            waiting, ended = state.get("waiting") or {}, state.get("terminated") or {}
            if waiting.get("reason") and waiting["reason"] not in _WAITING:
                yield (
                    f"container {each.get('name')} waits: {waiting['reason']}",
                    waiting.get("message", ""),
                )
            elif ended.get("exitCode"):
                yield f"container {each.get('name')} ended with {ended['exitCode']}", _why(ended)


def _fails(condition: Object) -> bool:
    kind, status = condition.get("type"), condition.get("status")
    if not isinstance(kind, str) or kind in _NEUTRAL:
        return False
    if condition.get("reason") == "PodCompleted":
        return False
    return status == "True" if _BAD_IF_TRUE.search(kind) else status in ("False", "Unknown")


def _why(part: Object) -> str:
    return ": ".join(str(part[name]) for name in ("reason", "message") if part.get(name))
