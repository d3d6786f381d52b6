"""Fields of a pod's status that a kubelet takes from the specification: resources of containers and
of the pod.

Stages say which containers run, and the kubelet adds these fields to the same write. Follows
convertToAPIContainerStatuses and convertStatusToAPIStatus of pkg/kubelet/kubelet_pods.go, except
that the recorded kubelet decides two cases: a pod without any resources shows none (a kubelet shows
`resources: {}`), and the stage that ends a pod removes them.
"""

from typing import Any

from inkube.client import Object
from inkube.controllers.workloads import capacity, pods
from inkube.controllers.workloads.cluster import Cluster
from inkube.formats import quantity

SPECS = {"containerStatuses": "containers", "initContainerStatuses": "initContainers"}
"""Members of a status, and the members of the specification with the same containers."""


class Statuses:
    """Adds fields to statuses, as far as the feature gates of the server permit it."""

    def __init__(self, cluster: Cluster) -> None:
        self._shows = cluster.server.has_feature("InPlacePodVerticalScaling")
        self._shows_whole = cluster.server.has_feature("InPlacePodLevelResourcesVerticalScaling")

    def complete(self, pod: Object, status: Object, allocated: Object) -> None:
        """Add the fields to a patch of the status, in place.

        `allocated`: the pod with the resources that its node gave it, before a pending resize.
        """
        if status.get("phase") in pods.TERMINAL:
            known = pod.get("status") or {}
            status |= {name: None for name in ("resources", "allocatedResources") if name in known}
        elif self._shows and has_resources(allocated):
            for member in SPECS:
                if status.get(member):
                    status[member] = _shown(member, status, allocated)
            if self._shows_whole and status.get("phase") == "Running":
                for name, value in of_pod(allocated).items():
                    status.setdefault(name, value)

    def due(self, pod: Object, allocated: Object) -> Object | None:
        """Return a patch that adds the fields to the status of a running pod, or None if it has
        them. Other clients and earlier servers can have written a status without them."""
        status = pod.get("status") or {}
        if status.get("phase") != "Running":
            return None
        completed = dict(status)
        self.complete(pod, completed, allocated)
        changed = {name: value for name, value in completed.items() if value != status.get(name)}
        return changed or None


def has_resources(pod: Object) -> bool:
    """Return whether a pod or a container of it has resources."""
    spec = pod["spec"]
    return bool(spec.get("resources")) or any(
        container.get("resources")
        for member in SPECS.values()
        for container in spec.get(member) or ()
    )


def of_container(spec: Object) -> Object:
    """Return the fields of the status of a container that has run."""
    resources = spec.get("resources") or {}
    shown = {"resources": resources}
    if resources.get("requests"):
        shown["allocatedResources"] = resources["requests"]
    return shown


def of_pod(pod: Object) -> Object:
    """Return the fields of the status of a pod with resources of its own; of another one, {}."""
    spec = pod["spec"]
    own = spec.get("resources")
    if not own:
        return {}
    allocated = _requests(spec)
    asked = {name: value for name, value in allocated.items() if name in ("cpu", "memory")}
    shown = {"resources": {**own, "requests": {**(own.get("requests") or {}), **asked}}}
    return {**shown, "allocatedResources": allocated} if allocated else shown


def _requests(spec: Object) -> Object:
    """Return the requests of a pod as quantities, in the notation of the first part that has the
    resource (PodRequests)."""
    texts: dict[str, str] = {}
    for part in (spec, *(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        texts = {**((part.get("resources") or {}).get("requests") or {}), **texts}
    texts = {**(spec.get("overhead") or {}), **texts}
    return {
        name: str(
            quantity.Quantity(
                amount, -3 if name == capacity.CPU else 0, quantity.parse(str(texts[name])).format
            )
        )
        for name, amount in capacity.requests(spec).items()
    }


def _shown(member: str, status: Object, pod: Object) -> list[Object]:
    """Return the statuses of containers with the resources of those that have run. A list of them
    is atomic, so a patch needs all."""
    specs = {each["name"]: each for each in pod["spec"].get(SPECS[member]) or ()}
    return [
        one | of_container(specs[one["name"]])
        if "resources" not in one and one.get("name") in specs and _has_run(one)
        else one
        for one in status[member]
    ]


def _has_run(container: Object) -> bool:
    state: dict[str, Any] = container.get("state") or {}
    return bool(state.get("running") is not None or state.get("terminated") is not None)
