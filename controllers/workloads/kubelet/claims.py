"""Claims of pods in kubelets: a pod starts when all of its claims are reserved for it.

Follows prepareResources of pkg/kubelet/cm/dra/manager.go. The preparation itself always succeeds:
drivers are simulated.
"""

from inkube.client import Object
from inkube.controllers.workloads import pods
from inkube.controllers.workloads.cluster import Cluster
from inkube.controllers.workloads.devices import CLAIMS, SINCE, podclaims
from inkube.kinds import Watch


class Claims:
    """The claims of pods on simulated nodes; on servers that know none, pods never wait."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._events = cluster.recorder("kubelet", "kubelet")
        self._are_known = cluster.server.find_kind(*SINCE) is not None

    def watches(self) -> tuple[Watch, ...]:
        """Return the watch of claims, whose keys are the pods that have them."""
        return (Watch(CLAIMS, keys=podclaims.users_of),) if self._are_known else ()

    async def is_missing_one(self, pod: Object) -> bool:
        """Return whether a pod cannot start yet, and report why in an Event. A change of the claim
        is a reason to ask again."""
        has_claims = pod["spec"].get("resourceClaims") or podclaims.extended_name(pod)
        if not self._are_known or not has_claims:
            return False
        if pods.phase(pod) not in ("", "Pending") or pods.is_deleting(pod):
            return False
        why = podclaims.preparation_problem(pod, self._cluster.informer(CLAIMS).get)
        if why:
            text = f"Failed to prepare dynamic resources: prepare dynamic resources: {why}"
            await self._events.warning(pod, "FailedPrepareDynamicResources", text)
        return bool(why)
