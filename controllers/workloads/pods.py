"""The states of pods that controllers use, and the order in which pods are deleted.

Follows pkg/api/v1/pod and ActivePodsWithRanks of pkg/controller/controller_utils.go.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from inkube.client import Object

TERMINAL = ("Succeeded", "Failed")
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


def condition(obj: Object, kind: str) -> Object | None:
    """Return the condition of a type, or None without one."""
    for each in (obj.get("status") or {}).get("conditions") or ():
        if each["type"] == kind:
            found: Object = each
            return found
    return None


def phase(pod: Object) -> str:
    """Return the phase of a pod, or "" if it has no phase yet."""
    return (pod.get("status") or {}).get("phase") or ""


def unstarted(pod: Object, state: Object) -> list[Object]:
    """Return the containerStatuses of containers that never ran or are lost. All have the same
    state."""
    return [
        {
            "name": one["name"],
            "image": one.get("image", ""),
            "imageID": "",
            "ready": False,
            "started": False,
            "restartCount": 0,
            "state": state,
        }
        for one in pod["spec"]["containers"]
    ]


def is_deleting(obj: Object) -> bool:
    """Return whether the object is in deletion."""
    return "deletionTimestamp" in obj["metadata"]


def is_terminal(pod: Object) -> bool:
    """Return whether the pod is Succeeded or Failed: its containers do not run again."""
    return phase(pod) in TERMINAL


def is_active(pod: Object) -> bool:
    """Return whether the pod counts as a replica: it is neither terminal nor in deletion."""
    return not is_terminal(pod) and not is_deleting(pod)


def is_terminating(pod: Object) -> bool:
    """Return whether the pod is in deletion, but not terminal."""
    return is_deleting(pod) and not is_terminal(pod)


def is_ready(pod: Object) -> bool:
    """Return whether the condition Ready of the pod is True."""
    found = condition(pod, "Ready")
    return found is not None and found["status"] == "True"


def moment(text: str | None) -> datetime:
    """Return a timestamp of an object; the earliest datetime for None or ""."""
    return datetime.fromisoformat(text) if text else _LONG_AGO


def ready_since(pod: Object) -> datetime:
    """Return the time at which the pod became ready; the earliest datetime if it is not ready."""
    found = condition(pod, "Ready")
    return moment(found.get("lastTransitionTime")) if found and is_ready(pod) else _LONG_AGO


def available_in(pod: Object, min_ready: int, now: datetime) -> float | None:
    """Return seconds until the pod is available: 0 if it is available, None if it is not ready."""
    if not is_ready(pod):
        return None
    if not min_ready:
        return 0.0
    wait = (ready_since(pod) + timedelta(seconds=min_ready) - now).total_seconds()
    return max(wait, 0.0)


def disrupted(pod: Object, reason: str, message: str, now: str) -> Object:
    """Return the pod's status with a new condition DisruptionTarget."""
    made: Object = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": reason,
        "message": message,
        "lastTransitionTime": now,
    }
    if pod["metadata"].get("generation"):
        made["observedGeneration"] = pod["metadata"]["generation"]
    status = pod.get("status") or {}
    others = [each for each in status.get("conditions") or () if each["type"] != made["type"]]
    return {**status, "conditions": [*others, made]}


class Tally:
    """The numbers of ready and available pods."""

    def __init__(self, pods: Iterable[Object], min_ready: int, now: datetime) -> None:
        self.ready = self.available = 0
        self.next_available: float | None = None
        """Seconds until the next pod becomes available; None without such a pod."""
        for pod in pods:
            wait = available_in(pod, min_ready, now)
            if wait is None:
                continue
            self.ready += 1
            if wait == 0:
                self.available += 1
            elif self.next_available is None or wait < self.next_available:
                self.next_available = wait


def deletion_cost(pod: Object) -> int:
    """Return the pod's deletion cost from its annotation; 0 if that is missing or not a number."""
    text = (pod["metadata"].get("annotations") or {}).get(DELETION_COST, "")
    try:
        return int(text)
    except ValueError:
        return 0


def restarts(pod: Object) -> int:
    """Return the largest number of restarts of a container of the pod."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    return max((each.get("restartCount", 0) for each in statuses), default=0)


def by_deletion(pods: Iterable[Object], siblings: dict[str, int]) -> list[Object]:
    """Return pods in the order of their deletion. `siblings`: node → active pods of the
    workload."""

    def rank(pod: Object) -> tuple[object, ...]:
        node = pod["spec"].get("nodeName") or ""
        ready = is_ready(pod)
        return (
            bool(node),
            _PHASES.get(phase(pod), 1),
            ready,
            deletion_cost(pod),
            -siblings.get(node, 0),
            -ready_since(pod).timestamp() if ready else 0.0,
            -restarts(pod),
            -moment(pod["metadata"].get("creationTimestamp")).timestamp(),
            -int(pod["metadata"]["resourceVersion"]),
        )

    return sorted(pods, key=rank)
