"""The generation of a pod that its kubelet has seen, in the status and in the kubelet's conditions.

Kubelets have reported it since Kubernetes 1.34. Earlier servers do not store it. Follows
SetPodStatus of pkg/kubelet/status/status_manager.go and generateAPIPodStatus of
pkg/kubelet/kubelet_pods.go.
"""

from inkube.client import Object
from inkube.controllers.workloads import pods

_SCHEDULED = "PodScheduled"
_OWN = frozenset(
    (_SCHEDULED, "PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")
)
"""The conditions that a kubelet generates again with each status."""


def note(pod: Object, status: Object, now: str) -> None:
    """Add the generation of a pod to a patch of its status, in place.

    A kubelet generates all of its conditions with each status. With the first ones it reports
    PodScheduled, also for a pod that no scheduler placed.
    """
    generation = pod["metadata"].get("generation", 0)
    conditions = [*(status.get("conditions") or ())]
    known = {each["type"]: each for each in (pod.get("status") or {}).get("conditions") or ()}
    if conditions and _SCHEDULED not in known:
        conditions.append({"type": _SCHEDULED, "status": "True", "lastTransitionTime": now})
    changed = {each["type"] for each in conditions}
    conditions += [
        {"type": kind}
        for kind in known.keys() & _OWN - changed
        if known[kind].get("observedGeneration", 0) != generation
    ]
    if generation:
        status["observedGeneration"] = generation
        for condition in conditions:
            if condition["type"] in _OWN:
                condition["observedGeneration"] = generation
    if conditions:
        status["conditions"] = conditions


def due(pod: Object) -> Object | None:
    """Return the patch of the status after a change of a pod that the kubelet reported before, or
    None without such a change."""
    seen = (pod.get("status") or {}).get("observedGeneration", 0)
    is_new = 0 < seen < pod["metadata"].get("generation", 0)
    return {} if is_new and not pods.is_deleting(pod) else None
