"""Resizes of running pods: the kubelet gives containers their new resources, and reports them.

Without room, the pod keeps its resources and has the condition PodResizePending. Follows
pkg/kubelet/allocation (canResizePod) and pkg/kubelet/kuberuntime. Limits below the usage of a
container do not exist here, so a resize that starts also succeeds.
"""

from collections.abc import Iterator
from typing import NamedTuple

import orjson

from inkube.client import Object
from inkube.controllers.workloads import pods
from inkube.controllers.workloads.kubelet import statuses
from inkube.controllers.workloads.kubelet.admission import Admission

PENDING = "PodResizePending"
RETRY_SECONDS = 180.0
"""A kubelet tries deferred resizes again after this time (retryPendingResizes)."""


def due(pod: Object, admission: Admission, now: str) -> Object | None:
    """Return the patch of the status after a resize of a running pod, or None without a change."""
    status = pod.get("status") or {}
    before = admission.admitted(pod)
    if before is None or status.get("phase") != "Running":
        return None
    pending = pods.condition(pod, PENDING)
    changed, whole = _changed(before, pod), _whole(pod)
    is_resized = whole != _whole(before)
    if not changed and not is_resized:
        return None if pending is None else _without_pending()
    why = admission.resize(pod)
    if why is not None:
        told = {"status": "True", "reason": why.reason, "message": why.message}
        told["observedGeneration"] = pod["metadata"].get("generation", 0)
        if pending is not None and all(pending.get(key) == value for key, value in told.items()):
            return None
        moved = now if pending is None else pending.get("lastTransitionTime", now)
        return {"conditions": [{"type": PENDING, **told, "lastTransitionTime": moved}]}
    patch = {} if pending is None else _without_pending()
    if is_resized:
        patch |= statuses.of_pod(pod)
    for member, names in changed.items():
        specs = {each["name"]: each for each in pod["spec"][statuses.SPECS[member]]}
        old = {each["name"]: each for each in before["spec"][statuses.SPECS[member]]}
        patch[member] = [
            _resized(one, specs[one["name"]], old[one["name"]], now)
            if one["name"] in names
            else one
            for one in status.get(member) or ()
        ]
    return patch


def retry_after(pod: Object) -> float:
    """Return the seconds until a kubelet tries a pending resize of the pod again, or 0 without
    one."""
    return RETRY_SECONDS if pods.condition(pod, PENDING) is not None else 0.0


class Report(NamedTuple):
    """An Event about a resize."""

    type: str
    reason: str
    message: str


def reports(pod: Object, patch: Object) -> Iterator[Report]:
    """Yield the Events about a patch of `due` (pkg/kubelet/events/resize.go)."""
    for each in patch.get("conditions") or ():
        if each.get("status") == "True":
            kind, why = each["reason"], each["message"]
            yield Report("Warning", f"Resize{kind}", f"Pod resize {kind}: {_summary(pod, why)}")
    if "resources" in patch or any(member in patch for member in statuses.SPECS):
        for reason, text in (("ResizeStarted", "started"), ("ResizeCompleted", "completed")):
            yield Report("Normal", reason, f"Pod resize {text}: {_summary(pod)}")


def _summary(pod: Object, error: str = "") -> str:
    """Return the wanted resources of a pod as JSON (makeResourceSummaryFromSpec)."""
    told: Object = {}
    for member in ("initContainers", "containers"):
        containers = pod["spec"].get(member)
        if containers:
            told[member] = [
                {"name": each["name"], "resources": _sorted(each.get("resources") or {})}
                for each in containers
            ]
    told["generation"] = pod["metadata"].get("generation", 0)
    if error:
        told["error"] = error
    return orjson.dumps(told).decode()


def _sorted(resources: Object) -> Object:
    return {
        member: dict(sorted(resources[member].items()))
        for member in ("limits", "requests")
        if resources.get(member)
    }


def _whole(pod: Object) -> Object:
    """Return the resources of a pod itself."""
    return pod["spec"].get("resources") or {}


def _changed(before: Object, pod: Object) -> dict[str, set[str]]:
    """Return the names of containers whose resources differ, by the member of their status."""
    found: dict[str, set[str]] = {}
    for member, specs in statuses.SPECS.items():
        old = {each["name"]: each for each in before["spec"].get(specs) or ()}
        names = {
            each["name"]
            for each in pod["spec"].get(specs) or ()
            if each["name"] in old and each.get("resources") != old[each["name"]].get("resources")
        }
        if names:
            found[member] = names
    return found


def _resized(status: Object, spec: Object, before: Object, now: str) -> Object:
    """Return the status of a container with new resources, after a restart if its policy says so
    for a resource that changes."""
    told = {**status, **statuses.of_container(spec)}
    running = (status.get("state") or {}).get("running")
    if running is None or not _restarts(spec, before):
        return told
    ended = {"exitCode": 0, "reason": "Completed", "finishedAt": now, **running}
    return {
        **told,
        "restartCount": status.get("restartCount", 0) + 1,
        "lastState": {"terminated": ended},
        "state": {"running": {"startedAt": now}},
    }


def _restarts(spec: Object, before: Object) -> bool:
    new, old = spec.get("resources") or {}, before.get("resources") or {}
    return any(
        policy["restartPolicy"] == "RestartContainer"
        and any(
            (new.get(kind) or {}).get(name) != (old.get(kind) or {}).get(name)
            for kind in ("requests", "limits")
        )
        for policy in spec.get("resizePolicy") or ()
        for name in (policy["resourceName"],)
    )


def _without_pending() -> Object:
    return {"conditions": [{"type": PENDING, "$patch": "delete"}]}
