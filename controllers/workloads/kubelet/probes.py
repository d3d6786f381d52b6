"""Probes of containers: readiness begins after the delays and thresholds of the pod.

Simulated probes always succeed, so only time matters: a container has started after the delay of
its startup probe, and is ready after that of its readiness probe and as many periods as its
success threshold needs. Follows pkg/kubelet/prober (worker.go).
"""

from datetime import datetime

from inkube.client import Object
from inkube.controllers.workloads import pods
from inkube.formats import format_time

UNREADY = "pod-unready.stage.kwok.x-k8s.io"
"""The label of pods that a stage keeps unready."""
_CONDITIONS = ("Ready", "ContainersReady")


def started_after(container: Object) -> float:
    """Return the seconds from the start of a container until its startup probe succeeds."""
    return float((container.get("startupProbe") or {}).get("initialDelaySeconds") or 0)


def ready_after(container: Object) -> float:
    """Return the seconds from the start of a container until it is ready."""
    probe, started = container.get("readinessProbe"), started_after(container)
    if probe is None:
        return started
    first = max(started, float(probe.get("initialDelaySeconds") or 0))
    return first + ((probe.get("successThreshold") or 1) - 1) * (probe.get("periodSeconds") or 10)


def delay(pod: Object, status: Object, now: datetime) -> None:
    """Take back the readiness of containers in a patch of the status if it is too early, in
    place."""
    specs, unready = _delayed(pod), []
    for one in status.get("containerStatuses") or ():
        spec, age = specs.get(one.get("name", "")), _age(one, now)
        if spec is not None and age is not None and one.get("ready") and age < ready_after(spec):
            one |= {"ready": False, "started": age >= started_after(spec)}
            unready.append(one["name"])
    if unready:
        for condition in status.get("conditions") or ():
            if condition["type"] in _CONDITIONS and condition.get("status") == "True":
                condition |= {"status": "False", **_refused(unready)}


def due(pod: Object, now: datetime) -> tuple[Object | None, float]:
    """Return the patch of the status that is due, if any, and the seconds until the next one, or
    0."""
    status, specs = pod.get("status") or {}, _delayed(pod)
    is_unready = (pod["metadata"].get("labels") or {}).get(UNREADY) == "true"
    if not specs or is_unready or status.get("phase") != "Running" or pods.is_deleting(pod):
        return None, 0.0
    changed, waits, unready = [], [], []
    for one in status.get("containerStatuses") or ():
        spec, age = specs.get(one["name"]), _age(one, now)
        new = one
        if spec is not None and age is not None and not one.get("ready"):
            times = (started_after(spec), ready_after(spec))
            new = {**one, "started": age >= times[0], "ready": age >= times[1]}
            waits += [time - age for time in times if time > age]
        changed.append(new)
        if not new.get("ready"):
            unready.append(one["name"])
    left = min(waits, default=0.0)
    if changed == (status.get("containerStatuses") or []):
        return None, left
    patch: Object = {"containerStatuses": changed}
    if not unready:
        told = {"status": "True", "reason": None, "message": None}
        told["lastTransitionTime"] = format_time(now)
        patch["conditions"] = [{"type": kind, **told} for kind in _CONDITIONS]
    return patch, left


def _delayed(pod: Object) -> dict[str, Object]:
    """Return the containers that are not ready at their start, by name."""
    return {each["name"]: each for each in pod["spec"]["containers"] if ready_after(each)}


def _age(container_status: Object, now: datetime) -> float | None:
    """Return the seconds since a running container started, or None for another one."""
    running = (container_status.get("state") or {}).get("running")
    if running is None:
        return None
    return (now - pods.moment(running.get("startedAt"))).total_seconds()


def _refused(names: list[str]) -> Object:
    return {
        "reason": "ContainersNotReady",
        "message": f"containers with unready status: [{' '.join(names)}]",
    }
