"""The built-in stages of `builtin/fast.yaml` as Python functions, a hundred times as fast.

Rendering a template and parsing its text as YAML takes 1.5 ms for a pod, which slows down rollouts
of many pods. A stage whose spec equals the spec in the file uses these functions. A test checks
that both have the same results.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from inkube.client import Object
from inkube.controllers.workloads.stages import functions
from inkube.controllers.workloads.stages.functions import Addresses
from inkube.formats import format_time
from inkube.kinds import Clock

UNREADY = "pod-unready.stage.kwok.x-k8s.io"
NOT_READY = "node-not-ready.stage.kwok.x-k8s.io"
FAIL, COMPLETE = "pod-fail.stage.kwok.x-k8s.io", "pod-complete.stage.kwok.x-k8s.io"
INDEX = "batch.kubernetes.io/job-completion-index"
FEATURES = ["InPlacePodLevelResourcesVerticalScaling", "InPlacePodVerticalScalingInitContainers"]
"""What a simulated kubelet does for changed pods (component-helpers/nodedeclaredfeatures)."""
DEFAULT_CAPACITY = {"cpu": "4", "memory": "8Gi", "ephemeral-storage": "100Gi", "pods": "110"}


class Native(NamedTuple):
    """A stage: its selector, and the status that it patches (None: the stage patches no status)."""

    select: Callable[[Object], bool]
    status: Callable[[Object], Object] | None

    def matches(self, obj: Object) -> bool:
        """Return whether the object is selected."""
        return self.select(obj)


class Natives:
    """The built-in stages by name. They use a clock and the addresses of nodes and pods."""

    def __init__(self, clock: Clock, addresses: Addresses) -> None:
        self._clock = clock
        self._addresses = addresses
        self.by_name = {
            "pod-ready": Native(_is_to_start, self._running_status),
            "pod-complete": Native(_is_to_complete, self._completed_status),
            "pod-complete-bare": Native(_is_bare, self._completed_status),
            "pod-complete-other-index": Native(_is_to_complete_after_all, self._completed_status),
            "pod-fail": Native(_is_to_fail, self._failed_status),
            "pod-delete": Native(_is_deleting, None),
            "pod-turns-unready": Native(_turns_unready, self._turned_unready),
            "pod-turns-ready": Native(_turns_ready, self._turned_ready),
            "node-initialize": Native(_is_to_register, self._registered_status),
            "node-not-ready": Native(_is_to_be_ill, self._ill),
        }

    def _now(self) -> str:
        return format_time(self._clock.now())

    def _running_status(self, pod: Object) -> Object:
        spec, own, now = pod["spec"], pod["metadata"], self._now()
        host = self._addresses.node(spec["nodeName"])
        address = self._addresses.pod(
            spec["nodeName"], host_network=bool(spec.get("hostNetwork")), uid=own.get("uid", "")
        )
        is_unready = (own.get("labels") or {}).get(UNREADY) == "true"
        why = _unready(pod) if is_unready else {"status": "True"}
        status = {
            "phase": "Running",
            "startTime": now,
            "hostIP": host,
            "hostIPs": [{"ip": host}],
            "podIP": address,
            "podIPs": [{"ip": address}],
            "conditions": [
                _condition("PodReadyToStartContainers", now, status="True"),
                _condition("Initialized", now, status="True"),
                _condition("Ready", now, **why),
                _condition("ContainersReady", now, **why),
            ],
            "containerStatuses": [
                _container(one, ready=not is_unready, started=True, state=_started(now))
                for one in spec["containers"]
            ],
        }
        if spec.get("initContainers"):
            status["initContainerStatuses"] = [_init(one, now) for one in spec["initContainers"]]
        return status

    def _completed_status(self, pod: Object) -> Object:
        return self._ended_status(
            pod, "Succeeded", code=0, reason="Completed", condition_reason="PodCompleted"
        )

    def _failed_status(self, pod: Object) -> Object:
        notes = pod["metadata"].get("annotations") or {}
        code = int(notes.get(f"{FAIL}/exit-code") or "1")
        reason = notes.get(f"{FAIL}/reason") or "Error"
        return self._ended_status(
            pod, "Failed", code=code, reason=reason, condition_reason="PodFailed"
        )

    def _ended_status(
        self, pod: Object, phase: str, *, code: int, reason: str, condition_reason: str
    ) -> Object:
        now = self._now()
        start = pod["status"].get("startTime")
        state = {
            "terminated": {
                "exitCode": code, "reason": reason, "startedAt": start, "finishedAt": now,
            }
        }  # fmt: skip
        return {
            "phase": phase,
            "conditions": [
                _condition("Ready", now, status="False", reason=condition_reason),
                _condition("ContainersReady", now, status="False", reason=condition_reason),
            ],
            "containerStatuses": [
                _container(one, ready=False, started=False, state=state)
                for one in pod["spec"]["containers"]
            ],
        }

    def _turned_unready(self, pod: Object) -> Object:
        why = _unready(pod)
        return self._readiness_status(pod, is_ready=False, condition=why)

    def _turned_ready(self, pod: Object) -> Object:
        return self._readiness_status(
            pod, is_ready=True, condition={"status": "True", "reason": None, "message": None}
        )

    def _readiness_status(self, pod: Object, *, is_ready: bool, condition: Object) -> Object:
        now = self._now()
        return {
            "conditions": [
                _condition(kind, now, **condition) for kind in ("Ready", "ContainersReady")
            ],
            "containerStatuses": [
                {**one, "ready": is_ready} for one in pod["status"]["containerStatuses"]
            ],
        }

    def _registered_status(self, node: Object) -> Object:
        status = node.get("status") or {}
        info = status.get("nodeInfo") or {}
        name = node["metadata"]["name"]
        return {
            "conditions": functions.node_conditions(self._now()),
            "addresses": [
                {"type": "InternalIP", "address": self._addresses.node(name)},
                {"type": "Hostname", "address": name},
            ],
            "allocatable": status.get("allocatable") or status.get("capacity") or DEFAULT_CAPACITY,
            "capacity": status.get("capacity") or status.get("allocatable") or DEFAULT_CAPACITY,
            "declaredFeatures": status.get("declaredFeatures") or FEATURES,
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "nodeInfo": {
                "architecture": info.get("architecture") or "amd64",
                "bootID": "",
                "containerRuntimeVersion": info.get("containerRuntimeVersion") or "inkube://",
                "kernelVersion": info.get("kernelVersion") or "inkube",
                "kubeProxyVersion": "",
                "kubeletVersion": info.get("kubeletVersion") or functions.VERSION,
                "machineID": "",
                "operatingSystem": info.get("operatingSystem") or "linux",
                "osImage": info.get("osImage") or "inkube",
                "systemUUID": "",
            },
        }

    def _ill(self, node: Object) -> Object:
        now = self._now()
        return {
            "conditions": [
                {
                    "type": "Ready",
                    "status": "False",
                    "reason": "nodeFailed",
                    "message": "node failed",
                    "lastHeartbeatTime": now,
                    "lastTransitionTime": now,
                }
            ]
        }


def condition_status(obj: Object, kind: str) -> str:
    """Return the status of a condition, or "" without such a condition."""
    for each in (obj.get("status") or {}).get("conditions") or ():
        if each.get("type") == kind:
            return str(each.get("status", ""))
    return ""


def _condition(kind: str, now: str, **members: Any) -> Object:
    return {"type": kind, **members, "lastTransitionTime": now}


def _unready(pod: Object) -> Object:
    names = " ".join(one["name"] for one in pod["spec"]["containers"])
    return {
        "status": "False",
        "reason": "ContainersNotReady",
        "message": f"containers with unready status: [{names}]",
    }


def _container(container: Object, *, ready: bool, started: bool, state: Object) -> Object:
    return {
        "name": container["name"],
        "image": container.get("image", ""),
        "imageID": "",
        "ready": ready,
        "started": started,
        "restartCount": 0,
        "state": state,
    }


def _started(now: str) -> Object:
    return {"running": {"startedAt": now}}


def _init(container: Object, now: str) -> Object:
    if container.get("restartPolicy") == "Always":
        return _container(container, ready=True, started=True, state=_started(now))
    ended = {"exitCode": 0, "reason": "Completed", "startedAt": now, "finishedAt": now}
    return _container(container, ready=True, started=False, state={"terminated": ended})


def _notes(pod: Object) -> Object:
    found: Object = pod["metadata"].get("annotations") or {}
    return found


def _phase(pod: Object) -> Any:
    return (pod.get("status") or {}).get("phase")


def _is_deleting(obj: Object) -> bool:
    return obj["metadata"].get("deletionTimestamp") is not None


def _is_to_start(pod: Object) -> bool:
    return _phase(pod) == "Pending" and not _is_deleting(pod)


def _runs(pod: Object) -> bool:
    return _phase(pod) == "Running" and not _is_deleting(pod)


def _is_to_complete(pod: Object) -> bool:
    if not _runs(pod) or f"{FAIL}/delay" in _notes(pod):
        return False
    owners = pod["metadata"].get("ownerReferences") or ()
    return f"{COMPLETE}/delay" in _notes(pod) or any(one.get("kind") == "Job" for one in owners)


def _is_bare(pod: Object) -> bool:
    """Return whether a running pod has no owner, no annotation about its end, and restartPolicy
    Never or OnFailure."""
    notes = _notes(pod)
    return (
        _runs(pod)
        and f"{FAIL}/delay" not in notes
        and f"{COMPLETE}/delay" not in notes
        and not pod["metadata"].get("ownerReferences")
        and pod["spec"].get("restartPolicy") in ("Never", "OnFailure")
    )


def _is_named(pod: Object) -> bool | None:
    """Return whether the annotation of failing indexes contains the pod's index, or None without
    it."""
    named = _notes(pod).get(f"{FAIL}/index")
    return None if named is None else _notes(pod).get(INDEX, "none") in named.split(",")


def _is_to_complete_after_all(pod: Object) -> bool:
    return _runs(pod) and _is_named(pod) is False


def _is_to_fail(pod: Object) -> bool:
    return _runs(pod) and f"{FAIL}/delay" in _notes(pod) and _is_named(pod) is not False


def _turns_unready(pod: Object) -> bool:
    labels = pod["metadata"].get("labels") or {}
    return (
        labels.get(UNREADY) == "true"
        and _runs(pod)
        and condition_status(pod, "ContainersReady") == "True"
    )


def _turns_ready(pod: Object) -> bool:
    labels = pod["metadata"].get("labels") or {}
    if not _runs(pod) or labels.get(UNREADY) == "true":
        return False
    status = pod["status"]
    why = next(
        (each.get("reason") for each in status.get("conditions") or ()
         if each.get("type") == "ContainersReady"), None,
    )  # fmt: skip
    containers = status.get("containerStatuses") or ()
    return why == "ContainersNotReady" and all(
        (one.get("state") or {}).get("running") is not None for one in containers
    )


def _is_to_register(node: Object) -> bool:
    labels = node["metadata"].get("labels") or {}
    return labels.get(NOT_READY) != "true" and condition_status(node, "Ready") != "True"


def _is_to_be_ill(node: Object) -> bool:
    labels = node["metadata"].get("labels") or {}
    return labels.get(NOT_READY) == "true" and condition_status(node, "Ready") != "False"
