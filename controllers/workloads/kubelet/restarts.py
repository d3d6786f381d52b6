"""Restarts of ended containers in a running pod, by its restartPolicy.

The first restart is immediate. Later restarts wait in CrashLoopBackOff: first 10 s, then twice the
previous wait, at most 5 min. If the policy restarts no container, the pod ends. Follows
pkg/kubelet/kuberuntime and getPhase of pkg/kubelet/kubelet_pods.go.
"""

from datetime import datetime, timedelta

from inkube.client import Object
from inkube.controllers.workloads import pods
from inkube.formats import format_time

FIRST, LONGEST = 10.0, 300.0
_BACK_OFF = "CrashLoopBackOff"


def due(pod: Object, now: datetime) -> tuple[Object | None, float]:
    """Return the patch of the status that is due, if any, and the seconds until the next restart,
    or 0."""
    status = pod.get("status") or {}
    containers = status.get("containerStatuses") or []
    if status.get("phase") != "Running" or pods.is_deleting(pod):
        return None, 0.0
    if not any(_ended(one) for one in containers):
        return None, 0.0
    policy = pod["spec"].get("restartPolicy", "Always")
    if all(_ended(one) and not _may_run_again(one, policy) for one in containers):
        return finished(pod, containers, format_time(now)), 0.0
    changed, waits = [], []
    for one in containers:
        again, wait = _again(one, policy, now)
        changed.append(again)
        waits.append(wait)
    left = min((wait for wait in waits if wait > 0), default=0.0)
    if changed == containers:
        return None, left
    patch: Object = {"containerStatuses": changed}
    if all(one.get("ready") for one in changed):
        stamp = format_time(now)
        told = {"status": "True", "reason": None, "message": None, "lastTransitionTime": stamp}
        patch["conditions"] = [{"type": kind, **told} for kind in ("Ready", "ContainersReady")]
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


def _may_run_again(container_status: Object, policy: str) -> bool:
    return policy == "Always" or (policy == "OnFailure" and _code(container_status) != 0)


def _again(container_status: Object, policy: str, now: datetime) -> tuple[Object, float]:
    """Return the status of the container now, and the seconds until its restart, or 0."""
    ended = _ended(container_status)
    if ended is None or not _may_run_again(container_status, policy):
        return container_status, 0.0
    restarts = container_status.get("restartCount", 0)
    finish = pods.moment(ended.get("finishedAt"))
    left = (finish + timedelta(seconds=backoff(restarts)) - now).total_seconds()
    if left <= 0:
        running = {"running": {"startedAt": format_time(now)}}
        return {
            **container_status,
            "state": running,
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
