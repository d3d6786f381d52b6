"""Conditions of a pod that depend on other ones: Ready on its readiness gates, which are conditions
of other controllers, and PodScheduled on whether a scheduler wrote it.

Follows pkg/kubelet/status/generate.go (GeneratePodReadyCondition).
"""

from typing import Any

from inkube.client import Object


def gates(pod: Object) -> list[str]:
    """Return the condition types that must be True."""
    found = pod["spec"].get("readinessGates") or ()
    return [gate["conditionType"] for gate in found]


def adjust(pod: Object, status: Object) -> None:
    """Set Ready to False in a patch of the status if a gate is not True, in place."""
    wanted = gates(pod)
    ready = _find(status.get("conditions"), "Ready")
    if not wanted or ready is None or ready.get("status") != "True":
        return
    conditions = [*((pod.get("status") or {}).get("conditions") or ()), *status["conditions"]]
    messages = _messages(wanted, conditions)
    if messages:
        ready |= {"status": "False", **_refused(messages)}


def note_schedule(pod: Object, status: Object, now: str) -> None:
    """Add the condition PodScheduled to the first conditions of a pod that names its node itself,
    in place: no scheduler wrote it (generateAPIPodStatus of pkg/kubelet)."""
    known = (pod.get("status") or {}).get("conditions")
    if status.get("conditions") and _find(known, "PodScheduled") is None:
        made = {"type": "PodScheduled", "status": "True", "lastTransitionTime": now}
        status["conditions"] = [*status["conditions"], made]


def due(pod: Object, now: str) -> Object | None:
    """Return the patch of the status after a gate changed Ready, or None if Ready is right."""
    wanted = gates(pod)
    status = pod.get("status") or {}
    conditions = status.get("conditions")
    ready, containers = _find(conditions, "Ready"), _find(conditions, "ContainersReady")
    if not wanted or status.get("phase") != "Running" or ready is None or containers is None:
        return None
    if containers["status"] != "True":
        return None
    messages = _messages(wanted, conditions or [])
    if messages:
        told = {"status": "False", **_refused(messages)}
    else:
        told = {"status": "True", "reason": None, "message": None}
    if all(ready.get(member) == value for member, value in told.items()):
        return None
    moved = now if ready["status"] != told["status"] else ready.get("lastTransitionTime", now)
    return {"conditions": [{"type": "Ready", **told, "lastTransitionTime": moved}]}


def _refused(messages: list[str]) -> Object:
    return {"reason": "ReadinessGatesNotReady", "message": ", ".join(messages)}


def _messages(gates: list[str], conditions: list[Any]) -> list[str]:
    """Return a message for each gate that is missing or not True."""
    found = []
    for kind in gates:
        condition = _find(conditions, kind)
        if condition is None:
            found.append(f'corresponding condition of pod readiness gate "{kind}" does not exist.')
        elif condition["status"] != "True":
            found.append(
                f'the status of pod readiness gate "{kind}" is not "True", '
                f"but {condition['status']}"
            )
    return found


def _find(conditions: Any, kind: str) -> Object | None:
    return next((one for one in conditions or () if one.get("type") == kind), None)
