"""Writes the status of PodDisruptionBudgets: the currently allowed disruptions.

Follows pkg/controller/disruption/disruption.go.
"""

from collections.abc import Iterator
from datetime import timedelta

from inkube.client import Object, get_or_none
from inkube.controllers.workloads import pods, writes
from inkube.controllers.workloads.claims import controller_of
from inkube.controllers.workloads.cluster import PODS, Cluster
from inkube.controllers.workloads.rollouts import scaled_value
from inkube.formats import format_time, gotext, selectors, split_api_version
from inkube.kinds import Change, Controller, Informer, Key, Result, Watch

NAME = "disruption-controller"
_COMPONENT = "controllermanager"
BUDGETS = "policy/v1/poddisruptionbudgets"
_SCALED_KINDS = {
    ("apps", "ReplicaSet"): "apps/v1/replicasets",
    ("apps", "StatefulSet"): "apps/v1/statefulsets",
    ("apps", "Deployment"): "apps/v1/deployments",
    ("", "ReplicationController"): "v1/replicationcontrollers",
}
_DELETION_TIMEOUT = timedelta(minutes=2)
_UNMANAGED = (
    "Pods selected by this PodDisruptionBudget (selector: {}) were found to be unmanaged. As a "
    "result, the status of the PDB cannot be calculated correctly, which may result in undefined "
    'behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to an '
    "integer value."
)


class _NoExpectedCount(Exception):
    """The number of expected pods cannot be computed. The text is the reason."""


class Disruption:
    """Updates the status of one budget at a time."""

    def __init__(self, cluster: Cluster) -> None:
        self._clock = cluster.clock
        self._client = cluster.client()
        self._find_kind = cluster.server.find_kind
        self._events = cluster.recorder(_COMPONENT)
        self._budgets = cluster.informer(BUDGETS)
        self._pods = cluster.informer(PODS)
        self._owner_informers: dict[tuple[str, str], Informer] = {
            kind: cluster.informer(resource) for kind, resource in _SCALED_KINDS.items()
        }

    def of_pod(self, change: Change) -> Iterator[Key]:
        """Yield the budgets that select a pod, before or after its change."""
        for budget in self._budgets.items(change.object["metadata"]["namespace"]):
            if any(_selects(budget, pod) for pod in change if pod is not None):
                yield Key.of(budget)

    def of_owner(self, change: Change) -> Iterator[Key]:
        """Yield the budgets of the namespace, if the number of replicas of an owner changes."""
        counts = {each["spec"].get("replicas") for each in change if each is not None}
        if None not in change and len(counts) == 1:
            return
        for budget in self._budgets.items(change.object["metadata"]["namespace"]):
            yield Key.of(budget)

    async def reconcile(self, key: Key) -> Result | None:
        """Compute and write the status of one budget."""
        budget = self._budgets.get(key)
        if budget is None:
            return None
        found = [pod for pod in self._pods.items(key.namespace) if _selects(budget, pod)]
        if not found:
            await self._events.normal(budget, "NoPods", "No matching pods found")
        try:
            expected, desired, unmanaged = await self._expected(budget, found)
        except _NoExpectedCount as error:
            text = f"Failed to calculate the number of expected pods: {error}"
            await self._events.warning(budget, "CalculateExpectedPodCountFailed", text)
            await self._fail(budget, str(error))
            return None
        if unmanaged:
            selector = selectors.format_selector(budget["spec"].get("selector") or {})
            await self._events.warning(budget, "UnmanagedPods", _UNMANAGED.format(selector))
        disrupted, later = await self._disrupted_pods(budget, found)
        healthy = sum(
            pods.is_ready(pod)
            and not pods.is_deleting(pod)
            and pod["metadata"]["name"] not in disrupted
            for pod in found
        )
        allowed = max(healthy - desired, 0) if expected > 0 else 0
        status: Object = {
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "disruptionsAllowed": allowed,
            "expectedPods": expected,
            "observedGeneration": budget["metadata"]["generation"],
        }
        if disrupted:
            status["disruptedPods"] = disrupted
        words = ("True", "SufficientPods") if allowed else ("False", "InsufficientPods")
        await self._write(budget, status, *words, "")
        return Result(requeue_after=later) if later else None

    async def _fail(self, budget: Object, message: str) -> None:
        status = dict(budget.get("status") or {})
        status["disruptionsAllowed"] = 0
        await self._write(budget, status, "False", "SyncFailed", message)

    async def _write(
        self, budget: Object, status: Object, value: str, reason: str, message: str
    ) -> None:
        present = pods.condition(budget, "DisruptionAllowed")
        moved = format_time(self._clock.now())
        if present is not None and present["status"] == value:
            moved = present["lastTransitionTime"]
        made = {
            "type": "DisruptionAllowed",
            "status": value,
            "reason": reason,
            "message": message,
            "lastTransitionTime": moved,
            "observedGeneration": budget["metadata"]["generation"],
        }
        before = (budget.get("status") or {}).get("conditions") or ()
        others = [each for each in before if each["type"] != made["type"]]
        await writes.write_status(self._client, budget, {**status, "conditions": [*others, made]})

    async def _expected(self, budget: Object, selected_pods: list[Object]) -> tuple[int, int, bool]:
        """Return the expected pods, the desired healthy pods, and whether some pods have no
        controller (getExpectedPodCount). Raises _NoExpectedCount."""
        spec = budget["spec"]
        least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
        if least is not None and not isinstance(least, str):
            return len(selected_pods), least, False
        if least is None and most is None:
            return 0, 0, False
        expected, unmanaged = await self._scale(selected_pods)
        if most is not None:
            desired = expected - scaled_value(most, expected, up=True)
        else:
            desired = scaled_value(least, expected, up=True)
        return expected, max(desired, 0), unmanaged

    async def _scale(self, selected_pods: list[Object]) -> tuple[int, bool]:
        """Return the total replicas of the pods' controllers, and whether some pods have no
        controller (getExpectedScale). Raises _NoExpectedCount."""
        scales: dict[str, int] = {}
        unmanaged = False
        for pod in selected_pods:
            reference = controller_of(pod)
            if reference is None:
                unmanaged = True
            elif reference["uid"] not in scales:
                uid, replicas = await self._replicas(pod, reference)
                scales[reference["uid"]] = 0
                scales[uid] = replicas
        return sum(scales.values()), unmanaged

    async def _replicas(self, pod: Object, reference: Object) -> tuple[str, int]:
        namespace = pod["metadata"]["namespace"]
        group, _ = split_api_version(reference["apiVersion"])
        known = self._owner_informers.get((group, reference["kind"]))
        if known is not None:
            owner = known.get(Key(namespace, reference["name"]))
            if owner is None:
                return reference["uid"], 0
            above = controller_of(owner)
            if reference["kind"] == "ReplicaSet" and above is not None:
                return await self._replicas(owner, above)
            return owner["metadata"]["uid"], owner["spec"].get("replicas", 1)
        kind = self._find_kind(reference["apiVersion"], reference["kind"])
        if kind is None:
            name = gotext.quote(pod["metadata"]["name"])
            raise _NoExpectedCount(f"found no controller ref for pod {name}")
        found = await get_or_none(self._client, kind.resource, reference["name"], namespace)
        if found is None:
            return reference["uid"], 0
        replicas = (found.get("spec") or {}).get("replicas")
        if not isinstance(replicas, int):
            plural = kind.resource.resource
            raise _NoExpectedCount(f"{plural}.{group} does not implement the scale subresource")
        return found["metadata"]["uid"], replicas

    async def _disrupted_pods(
        self, budget: Object, selected_pods: list[Object]
    ) -> tuple[dict[str, str], float]:
        """Return evicted pods that are not in deletion yet, by name, and seconds until the first of
        them is late (0: no such pod)."""
        told = (budget.get("status") or {}).get("disruptedPods") or {}
        left: dict[str, str] = {}
        later = 0.0
        meta = budget["metadata"]
        for pod in selected_pods:
            name = pod["metadata"]["name"]
            if pods.is_deleting(pod) or name not in told:
                continue
            rest = (pods.moment(told[name]) + _DELETION_TIMEOUT - self._clock.now()).total_seconds()
            if rest <= 0:
                text = f"Pod was expected by PDB {meta['namespace']}/{meta['name']} to be deleted"
                await self._events.warning(pod, "NotDeleted", f"{text} but it wasn't")
                continue
            left[name] = told[name]
            later = min(later, rest) if later else rest
        return left, later


def _selects(budget: Object, pod: Object) -> bool:
    selector = (budget.get("spec") or {}).get("selector")
    if selector is None or budget["metadata"]["namespace"] != pod["metadata"]["namespace"]:
        return False
    return selectors.selects(selector, pod["metadata"].get("labels") or {})


def add(cluster: Cluster) -> None:
    """Run the controller that writes the status of PodDisruptionBudgets."""
    disruption = Disruption(cluster)
    owners = tuple(Watch(resource, disruption.of_owner) for resource in _SCALED_KINDS.values())
    watches = (Watch(BUDGETS), Watch(PODS, disruption.of_pod), *owners)
    cluster.manager.add(Controller(NAME, disruption.reconcile, watches, sums_up=True))
