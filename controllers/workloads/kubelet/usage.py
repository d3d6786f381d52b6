"""Resource usage of pods: KWOK's ResourceUsage and ClusterResourceUsage, or annotations of the pod.

An amount is a quantity, or a CEL expression (`stages.expressions.of_usage`). Follows
pkg/kwok/server/metrics_resource_usage.go.
"""

import random
from collections.abc import Callable

from inkube.client import Object
from inkube.controllers.workloads import pods
from inkube.controllers.workloads.cluster import NODES, PODS, Cluster
from inkube.controllers.workloads.stages import expressions
from inkube.formats import quantity
from inkube.kinds import Change, Key

GROUP = "kwok.x-k8s.io/v1alpha1"
OWN = f"{GROUP}/resourceusages"
SHARED = f"{GROUP}/clusterresourceusages"
CPU, MEMORY = "kwok.x-k8s.io/usage-cpu", "kwok.x-k8s.io/usage-memory"
RESOURCES = {"cpu": CPU, "memory": MEMORY}


class Usages:
    """Reads the declared usage of pods from shared caches (`cluster.Usage`). The first declared
    usage causes a call of `on_first`."""

    def __init__(self, cluster: Cluster, on_first: Callable[[], None]) -> None:
        self._cluster = cluster
        self._on_first: Callable[[], None] | None = on_first
        self._random = random.Random(cluster.config.seed)  # noqa: S311 # numbers of a simulation
        self._own = cluster.informer(OWN)
        self._shared = cluster.informer(SHARED)
        self._own.subscribe(self._on_change)
        self._shared.subscribe(self._on_change)
        cluster.informer(PODS).subscribe(self._on_pod)

    def of(self, pod: Object) -> dict[str, dict[str, float]] | None:
        """Return container → resource → amount (cores, bytes), or None for a pod without measured
        usage."""
        if pods.phase(pod) != "Running":
            return None
        found = {}
        for container in pod["spec"].get("containers") or ():
            own = self._of_container(pod, container)
            if own:
                found[container["name"]] = own
        return found or None

    def _of_container(self, pod: Object, container: Object) -> dict[str, float]:
        usage = self._spec(pod, container["name"])
        notes = pod["metadata"].get("annotations") or {}
        found = {}
        for resource, annotation in RESOURCES.items():
            amount = None
            if usage is not None and usage.get(resource) is not None:
                amount = self._amount(usage[resource], pod, container)
            elif annotation in notes:
                amount = _number(notes[annotation])
            if amount is not None:
                found[resource] = amount
        return found

    def _spec(self, pod: Object, container: str) -> Object | None:
        """Return the usage of the pod's ResourceUsage, otherwise of the first
        ClusterResourceUsage."""
        own = pod["metadata"]
        obj = self._own.get(Key(own["namespace"], own["name"]))
        if obj is not None and (found := _group(obj, container)) is not None:
            return found
        for shared in sorted(self._shared.items(), key=lambda each: str(each["metadata"]["name"])):
            selector = (shared.get("spec") or {}).get("selector") or {}
            if (
                _is_among(own["namespace"], selector.get("matchNamespaces"))
                and _is_among(own["name"], selector.get("matchNames"))
                and (found := _group(shared, container)) is not None
            ):
                return found
        return None

    def _amount(self, amount: Object, pod: Object, container: Object) -> float | None:
        if amount.get("value") is not None:
            return _number(str(amount["value"]))
        if not amount.get("expression"):
            return None
        node = self._cluster.informer(NODES).get(Key("", pod["spec"].get("nodeName") or ""))
        started = pods.moment((pod.get("status") or {}).get("startTime"))
        variables = {
            "pod": _with_maps(pod),
            "node": _with_maps(node or {}),
            "container": container,
            "rand": self._random.random(),
            "since": (self._cluster.clock.now() - started).total_seconds(),
        }
        try:
            return expressions.of_usage(amount["expression"])(variables)
        except expressions.ExpressionError:  # stored by a version of the server that supported it
            return None

    def _on_change(self, change: Change) -> None:
        if change.new is not None:
            self._begin()

    def _on_pod(self, change: Change) -> None:
        notes = (change.new or {}).get("metadata", {}).get("annotations") or {}
        if CPU in notes or MEMORY in notes:
            self._begin()

    def _begin(self) -> None:
        begin, self._on_first = self._on_first, None
        if begin is not None:
            begin()


def _with_maps(obj: Object) -> Object:
    """Return the object with labels and annotations, even if they are empty, like
    KWOK's Go struct."""
    return {**obj, "metadata": {"annotations": {}, "labels": {}, **obj.get("metadata", {})}}


def _number(text: str) -> float | None:
    try:
        return float(quantity.parse(text).as_float())
    except ValueError:
        return None


def _group(obj: Object, container: str) -> Object | None:
    for group in (obj.get("spec") or {}).get("usages") or ():
        if _is_among(container, group.get("containers")):
            found: Object = group.get("usage") or {}
            return found
    return None


def _is_among(name: str, names: list[str] | None) -> bool:
    return not names or name in names
