"""Restarts of ended containers in a running pod, by their rules, their restartPolicy, or that of
the pod.

The first restart is immediate. Later restarts wait in CrashLoopBackOff: first 10 s, then twice the
previous wait, at most 5 min. If the policies restart no container, the pod ends. Follows
pkg/kubelet/kuberuntime and getPhase of pkg/kubelet/kubelet_pods.go.
"""

from datetime import datetime, timedelta

from inkube.client import Object
from inkube.controllers.workloads import pods
from inkube.formats import format_time, podrestarts

FIRST, LONGEST = 10.0, 300.0
_BACK_OFF = "CrashLoopBackOff"
_REMOVED = "The container is removed because RestartAllContainers in place"


def due(pod: Object, now: datetime) -> tuple[Object | None, float]:
    """Return the patch of the status that is due, if any, and the seconds until the next restart,
    or 0."""
    status = pod.get("status") or {}
    containers = status.get("containerStatuses") or []
    if status.get("phase") != "Running" or pods.is_deleting(pod):
        return None, 0.0
    if not any(_ended(one) for one in containers):
        return None, 0.0
    actions = [_action(pod, one) for one in containers]
    if all(_ended(one) and not action for one, action in zip(containers, actions, strict=True)):
        return finished(pod, containers, format_time(now)), 0.0
    changed, waits = [], []
    for one, action in zip(containers, actions, strict=True):
        again, wait = _again(one, now) if action else (one, 0.0)
        if action == podrestarts.RESTART_ALL and "running" in again["state"]:
            return _all_again(pod, format_time(now)), 0.0
        changed.append(again)
        waits.append(wait)
    left = min((wait for wait in waits if wait > 0), default=0.0)
    if changed == containers:
        return None, left
    patch: Object = {"containerStatuses": changed}
    if all(one.get("ready") for one in changed):
        patch["conditions"] = _ready(format_time(now))
    return patch, left


def backoff(restarts: int) -> float:
    """Return seconds before the next start of a container after a number of restarts."""
    return min(FIRST * 2.0 ** min(restarts - 1, 30), LONGEST) if restarts else 0.0


def finished(pod: Object, containers: list[Object], now: str) -> Object:
    """Return the status of a pod after all containers have ended without a restart."""
    failed = any(_code(one) for one in containers)
    why = "PodFailed" if failed else "PodCompleted"
    told = {"status": "False", "reason": why, "lastTransitionTime": now}
    return {
        "phase": "Failed" if failed else "Succeeded",
        "conditions": [{"type": kind, **told} for kind in ("Ready", "ContainersReady")],
        "containerStatuses": [{**one, "ready": False, "started": False} for one in containers],
    }


def _ended(container_status: Object) -> Object | None:
    """Return the `terminated` state of an ended container, also of one in back-off; else None."""
    state = container_status.get("state") or {}
    if (state.get("waiting") or {}).get("reason") == _BACK_OFF:
        return (container_status.get("lastState") or {}).get("terminated")
    return state.get("terminated")


def _code(container_status: Object) -> int:
    return int((_ended(container_status) or {}).get("exitCode", 0))


def _action(pod: Object, container_status: Object) -> str:
    """Return what follows the end of a container (`podrestarts.action`), or "" for a container that
    has not ended."""
    if _ended(container_status) is None:
        return ""
    spec, name = pod["spec"], container_status["name"]
    containers: list[Object] = spec["containers"]
    container = next((one for one in containers if one["name"] == name), {})
    policy = spec.get("restartPolicy", "Always")
    return podrestarts.action(container, policy, _code(container_status))


def _all_again(pod: Object, now: str) -> Object:
    """Return the patch of the status after all containers were removed and started again, also
    those that still ran, and init containers."""
    inits = pod["spec"].get("initContainers") or ()
    once = {one["name"] for one in inits if one.get("restartPolicy") != "Always"}
    removed = {"exitCode": 137, "reason": "RestartingAllContainers", "message": _REMOVED}
    done = {"exitCode": 0, "reason": "Completed", "startedAt": now, "finishedAt": now}
    patch: Object = {"conditions": _ready(now)}
    for member in ("initContainerStatuses", "containerStatuses"):
        statuses = pod["status"].get(member) or ()
        if statuses:
            patch[member] = [
                {
                    **one,
                    "state": {"terminated": done} if one["name"] in once else _running(now),
                    "lastState": {"terminated": removed},
                    "ready": True,
                    "started": one["name"] not in once,
                    "restartCount": one.get("restartCount", 0) + 1,
                }
                for one in statuses
            ]
    return patch


def _ready(now: str) -> list[Object]:
    told = {"status": "True", "reason": None, "message": None, "lastTransitionTime": now}
    return [{"type": kind, **told} for kind in ("Ready", "ContainersReady")]


def _running(now: str) -> Object:
    return {"running": {"startedAt": now}}


def _again(container_status: Object, now: datetime) -> tuple[Object, float]:
    """Return the status of an ended container now, and the seconds until its restart, or 0."""
    ended = _ended(container_status) or {}
    restarts = container_status.get("restartCount", 0)
    finish = pods.moment(ended.get("finishedAt"))
    left = (finish + timedelta(seconds=backoff(restarts)) - now).total_seconds()
    if left <= 0:
        return {
            **container_status,
            "state": _running(format_time(now)),
            "lastState": {"terminated": ended},
            "ready": True,
            "started": True,
            "restartCount": restarts + 1,
        }, 0.0
    if "waiting" in (container_status.get("state") or {}):
        return container_status, left
    message = (
        f"back-off {backoff(restarts):g}s restarting failed container={container_status['name']}"
    )
    waiting = {"waiting": {"reason": _BACK_OFF, "message": message}}
    state = {"state": waiting, "lastState": {"terminated": ended}}
    return {**container_status, **state, "ready": False, "started": False}, left
