"""The parts of simulated kubelets, put together: nodes, leases, stages of pods and nodes.

A kubelet serves a node while the node has KWOK's annotation. Without it, the node is not updated.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from inkube.client import GVR, Object, ignoring
from inkube.controllers.workloads import pods
from inkube.controllers.workloads.cluster import NODES, PODS, Cluster
from inkube.controllers.workloads.kubelet import (
    ephemeral,
    preemption,
    probes,
    readiness,
    resizes,
    restarts,
)
from inkube.controllers.workloads.kubelet.addresses import FIRST_NODE, Addresses
from inkube.controllers.workloads.kubelet.admission import Admission, Rejection
from inkube.controllers.workloads.kubelet.claims import Claims
from inkube.controllers.workloads.kubelet.containers import Containers
from inkube.controllers.workloads.kubelet.functions import Functions, load_functions
from inkube.controllers.workloads.kubelet.leases import Leases
from inkube.controllers.workloads.kubelet.reports import Reports
from inkube.controllers.workloads.kubelet.statuses import Statuses
from inkube.controllers.workloads.kubelet.usage import Usages
from inkube.controllers.workloads.stages import engine, functions, sets
from inkube.controllers.workloads.stages.native import Natives
from inkube.formats import format_time
from inkube.kinds import Change, Controller, Key, Reason, Watch

ANNOTATION = "kwok.x-k8s.io/node"
NAME = "kubelet"
SYSTEM = Path(__file__).with_name("system.yaml")
BARE = "pod-complete-bare"
"""The stage that completes pods without an owner."""
LARGE = {"cpu": "32", "memory": "64Gi", "ephemeral-storage": "512Gi", "pods": "500"}
_NEVER_RAN = "The container could not be located when the pod was terminated"
_START = Key("", "start")


class Kubelets:
    """The kubelets of all simulated nodes."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._client = cluster.client(NAME)
        self.addresses = Addresses()
        self.admission = Admission(cluster)
        self.statuses = Statuses(cluster)
        left_out = BARE if cluster.config.bare_pods_run else ""
        self._first = [
            each
            for each in sets.load_stages(cluster.config.stages)
            if each["metadata"].get("name") != left_out
        ]
        self._natives = Natives(cluster.clock, self.addresses)
        self.functions = Functions(
            cluster,
            load_functions(cluster.config.pods),
            self.manages_pod,
            self._natives.by_name["pod-ready"],
            self.admission,
            self.statuses,
        )

    def add(self) -> None:
        """Add the controllers of the kubelets to the manager."""
        cluster, clock = self._cluster, self._cluster.clock
        cluster.is_looked_after = self.manages
        cluster.containers = Containers(cluster, self.manages_pod, self.functions)
        self.functions.add()
        if cluster.config.metrics:
            usages = Usages(cluster, lambda: self._measure(usages))
        cluster.informer(PODS).subscribe(self.addresses.on_pod_change)
        cluster.informer(PODS).subscribe(self.admission.on_pod_change)
        cluster.informer(NODES).subscribe(self.addresses.on_node_change)
        Leases(cluster, self.manages).add()
        if cluster.config.kubelet_events:
            Reports(cluster, self.manages_pod).add()
        cluster.manager.add(
            Controller("kubelet-start", self._start, (), concurrency=1, sources=(_feed,))
        )
        parts = engine.Parts(
            manager=cluster.manager,
            client=self._client,
            events=cluster.recorder(NAME, NAME),
            functions=functions.helpers(clock, self.addresses),
            natives=self._natives,
            builtin={obj["metadata"]["name"]: obj["spec"] for obj in sets.builtin("fast")},
            find=cluster.server.find_kind,
            lives={("v1", "Pod"): _Pods(self), ("v1", "Node"): _Nodes(self)},
            seed=cluster.config.seed,
        )
        engine.Engine(parts).add()

    def _measure(self, usages: Usages) -> None:
        """Serve metrics from now on, because the first usage is declared."""
        self._cluster.usage = usages
        self._cluster.server.serve_metrics()

    def manages(self, node: Object) -> bool:
        """Return whether a node is simulated."""
        if self._cluster.config.manage_all_nodes:
            return True
        notes = node["metadata"].get("annotations") or {}
        return bool(notes.get(ANNOTATION) == "fake")

    def manages_pod(self, pod: Object) -> bool:
        """Return whether a pod is bound to a simulated node."""
        name = (pod.get("spec") or {}).get("nodeName")
        node = self._cluster.informer(NODES).get(Key("", name)) if name else None
        return node is not None and self.manages(node)

    async def _start(self, key: Key) -> None:
        """Create the first nodes and stages, and system pods. Existing objects do not change."""
        for number in range(1, self._cluster.config.nodes + 1):
            await self._ensure(_node(f"{FIRST_NODE}{number}"))
        system = sets.read(SYSTEM) if self._cluster.config.system_pods else ()
        for obj in (*self._first, *system):
            await self._ensure(obj)

    async def _ensure(self, obj: Object) -> None:
        with ignoring(Reason.ALREADY_EXISTS):
            await self._client.create(obj)

    @property
    def cluster(self) -> Cluster:
        """The cluster of these kubelets."""
        return self._cluster

    def now(self) -> str:
        """Return the time of the server's clock, formatted for objects."""
        return format_time(self._cluster.clock.now())


class _Nodes(engine.EveryObject):
    """The behavior of nodes next to their stages: stages change only simulated nodes."""

    def __init__(self, kubelets: Kubelets) -> None:
        super().__init__(kubelets.cluster.client(NAME), GVR.parse(NODES))
        self._kubelets = kubelets

    def handles(self, obj: Object) -> bool:
        return self._kubelets.manages(obj)


class _Pods(engine.EveryObject):
    """Pods on simulated nodes: readiness gates, and the end of containers before a deletion."""

    def __init__(self, kubelets: Kubelets) -> None:
        super().__init__(kubelets.cluster.client(NAME), GVR.parse(PODS))
        self._kubelets = kubelets
        self._events = kubelets.cluster.recorder(NAME, NAME)
        self._claims = Claims(kubelets.cluster)

    def handles(self, obj: Object) -> bool:
        return self._kubelets.manages_pod(obj) and not self._kubelets.functions.matches(obj)

    def watches(self) -> tuple[Watch, ...]:
        return Watch(NODES, keys=self._of_node), *self._claims.watches()

    def _of_node(self, change: Change) -> Iterable[Key]:
        """Return the pods of a node that became simulated or is no longer simulated."""
        before = change.old is not None and self._kubelets.manages(change.old)
        after = change.new is not None and self._kubelets.manages(change.new)
        if before == after:
            return ()
        return self._kubelets.cluster.pods_by_node().keys(change.object["metadata"]["name"])

    async def prepare(self, obj: Object) -> engine.Preparation:
        if await self._claims.is_missing_one(obj):
            return engine.Preparation(has_changed=True)
        rejection = self._kubelets.admission.rejection(obj)
        if rejection is not None and await self._preempt(obj):
            rejection = self._kubelets.admission.rejection(obj)
        if rejection is not None:
            await self._reject(obj, rejection)
            return engine.Preparation(has_changed=True)
        now = self._kubelets.cluster.clock.now()
        patch, again = restarts.due(obj, now)
        if patch is not None:
            probes.delay(obj, patch, now)
        else:
            patch, soon = probes.due(obj, now)
            again = min((wait for wait in (again, soon) if wait), default=0.0)
        if patch is None and obj["spec"].get("readinessGates"):
            patch = readiness.due(obj, self._kubelets.now())
        resize = None
        if patch is None:
            resize = resizes.due(obj, self._kubelets.admission, self._kubelets.now())
            patch = resize
        if patch is None:
            allocated = self._kubelets.admission.allocated(obj)
            started = ephemeral.due(obj, self._kubelets.now())
            patch = started or self._kubelets.statuses.due(obj, allocated)
        if patch is None:
            return engine.Preparation(next_seconds=again or resizes.retry_after(obj))
        await self._set_status(obj, patch)
        for each in resizes.reports(obj, resize) if resize is not None else ():
            host = obj["spec"]["nodeName"]
            await self._events.of_part(obj, *each, part="", host=host)
        return engine.Preparation(has_changed=True)

    async def _preempt(self, pod: Object) -> bool:
        """End other pods to admit a critical pod. Returns whether there were such pods."""
        victims = self._kubelets.admission.victims(pod)
        for each in victims:
            await self._events.of_part(
                each, "Warning", preemption.REASON, preemption.MESSAGE, part="",
                host=each["spec"]["nodeName"],
            )  # fmt: skip
            now = self._kubelets.now()
            told = pods.disrupted(each, "TerminationByKubelet", preemption.DISRUPTION, now)
            [condition] = [one for one in told["conditions"] if one["type"] == "DisruptionTarget"]
            status = ended(each, now)
            status |= {"phase": "Failed", "reason": preemption.REASON}
            status["message"] = preemption.MESSAGE
            status["conditions"] = [*(status.get("conditions") or ()), condition]
            await self._set_status(each, status)
            self._kubelets.admission.release(each)
        return bool(victims)

    def adjust(self, obj: Object, patch: Any) -> Any:
        if isinstance(patch.get("status"), dict):
            probes.delay(obj, patch["status"], self._kubelets.cluster.clock.now())
            readiness.adjust(obj, patch["status"])
            readiness.note_schedule(obj, patch["status"], self._kubelets.now())
            allocated = self._kubelets.admission.allocated(obj)
            self._kubelets.statuses.complete(obj, patch["status"], allocated)
        return patch

    async def _reject(self, pod: Object, rejection: Rejection) -> None:
        reason, message = rejection
        host = pod["spec"]["nodeName"]
        await self._events.of_part(pod, "Warning", reason, message, part="", host=host)
        status = {"phase": "Failed", "reason": reason, "message": f"Pod was rejected: {message}"}
        await self._set_status(pod, {**status, "startTime": self._kubelets.now()})

    async def delete(self, obj: Object) -> None:
        """End containers before the pod is deleted: watchers see it, and a Job waits for it."""
        if not pods.is_terminal(obj):
            await self._set_status(obj, ended(obj, self._kubelets.now()))
        await super().delete(obj)

    async def _set_status(self, pod: Object, status: Object) -> None:
        own = pod["metadata"]
        await self._client.patch(
            PODS,
            own["name"],
            own["namespace"],
            patch={"status": status},
            type="strategic",
            subresource="status",
        )


def ended(pod: Object, now: str) -> Object:
    """Return the status of a pod after its running and waiting containers were killed.

    Follows pkg/kubelet/status/status_manager.go (TerminatePod).
    """
    told = pod.get("status") or {}
    containers = told.get("containerStatuses") or pods.unstarted(pod, {})
    status = restarts.finished(pod, [_killed(one, now) for one in containers], now)
    for member in ("initContainerStatuses", ephemeral.MEMBER):
        if told.get(member):
            status[member] = [_killed(one, now) for one in told[member]]
    return status


def _killed(container: Object, now: str) -> Object:
    """Return the status of a container after it was killed; an ended one does not change."""
    state = container.get("state") or {}
    if "terminated" in state:
        return container
    ended = {"exitCode": 137, "reason": "Error", "finishedAt": now}
    if "running" in state:
        ended["startedAt"] = state["running"]["startedAt"]
    else:
        ended |= {"reason": "ContainerStatusUnknown", "message": _NEVER_RAN, "startedAt": None}
        ended["finishedAt"] = None
    return {**container, "ready": False, "started": False, "state": {"terminated": ended}}


def _feed(add: Callable[[Key], None]) -> Callable[[], None]:
    add(_START)
    return lambda: None


def _node(name: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "beta.kubernetes.io/arch": "amd64",
                "beta.kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
            },
            "annotations": {ANNOTATION: "fake"},
        },
        "status": {"capacity": LARGE, "allocatable": LARGE},
    }


def add(cluster: Cluster) -> None:
    """Add simulated kubelets to the manager of the cluster."""
    Kubelets(cluster).add()
