"""Conditions of pods, as more than one part of the server reads and writes them."""

from inkube.schemas.objects import Object


def is_ready(pod: Object) -> bool:
    """Return whether the condition Ready is True (podutil.IsPodReady)."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)


def set_condition(status: Object, condition: Object) -> None:
    """Put a condition in the place of the one of its type (podutil.UpdatePodCondition).

    Its lastTransitionTime stays the older one where its status does not change.
    """
    conditions: list[Object] = status.setdefault("conditions", [])
    for index, present in enumerate(conditions):
        if present["type"] == condition["type"]:
            if present["status"] == condition["status"] and present.get("lastTransitionTime"):
                condition["lastTransitionTime"] = present["lastTransitionTime"]
            conditions[index] = condition
            return
    conditions.append(condition)
