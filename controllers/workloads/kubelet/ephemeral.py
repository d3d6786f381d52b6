"""Ephemeral containers: they start in a running pod as soon as its specification has them.

They have no probes and are never restarted. Follows pkg/kubelet/kuberuntime and
convertToAPIContainerStatuses of pkg/kubelet/kubelet_pods.go.
"""

from inkube.client import Object
from inkube.controllers.workloads import pods

MEMBER = "ephemeralContainerStatuses"


def due(pod: Object, now: str) -> Object | None:
    """Return the patch of the status that starts new ephemeral containers of a running pod, or None
    without new ones."""
    specs = pod["spec"].get("ephemeralContainers")
    if not specs or pods.phase(pod) != "Running" or pods.is_deleting(pod):
        return None
    known = pod["status"].get(MEMBER) or []
    names = {one["name"] for one in known}
    started = [_started(each, now) for each in specs if each["name"] not in names]
    return {MEMBER: [*known, *started]} if started else None


def _started(container: Object, now: str) -> Object:
    return {
        "name": container["name"],
        "image": container.get("image", ""),
        "imageID": "",
        "ready": False,
        "restartCount": 0,
        "resources": {},
        "state": {"running": {"startedAt": now}},
    }
