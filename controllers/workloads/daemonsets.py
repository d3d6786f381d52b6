"""DaemonSets: one pod on each eligible node.

Follows pkg/controller/daemon (daemon_controller.go, update.go, util/daemonset_util.go).
"""

from collections.abc import Iterator
from typing import NamedTuple

from inkube.client import Object
from inkube.controllers.workloads import matching, pods, templates, writes
from inkube.controllers.workloads.claims import Claims, adopters, named_owners, own_selector
from inkube.controllers.workloads.cluster import NODES, PODS, Cluster
from inkube.controllers.workloads.revisions import HASH, Revisions
from inkube.controllers.workloads.rollouts import scaled_value
from inkube.kinds import Backoff, Change, Controller, Key, Result, StatusError, Watch

NAME = "daemonset-controller"
SETS = "apps/v1/daemonsets"
_GENERATION = "deprecated.daemonset.template.generation"
_POD_GENERATION = "pod-template-generation"
_BURST = 250
_FAILED_POD_BACKOFF = Backoff(first=1.0, longest=900.0)
_DEFAULT_TOLERATIONS = (
    ("not-ready", "NoExecute"),
    ("unreachable", "NoExecute"),
    ("disk-pressure", "NoSchedule"),
    ("memory-pressure", "NoSchedule"),
    ("pid-pressure", "NoSchedule"),
    ("unschedulable", "NoSchedule"),
)
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


class DaemonState(NamedTuple):
    """Whether a node should run a daemon pod, and whether an existing daemon pod can stay."""

    should_run: bool
    may_stay: bool


def tolerations(spec: Object) -> list[Object]:
    """Return the tolerations of the template, and the default tolerations of daemon pods."""
    found = list(spec.get("tolerations") or ())
    wanted = list(_DEFAULT_TOLERATIONS)
    if spec.get("hostNetwork"):
        wanted.append(("network-unavailable", "NoSchedule"))
    for name, effect in wanted:
        added = {"key": f"node.kubernetes.io/{name}", "operator": "Exists", "effect": effect}
        if added not in found:
            found.append(added)
    return found


def state_on(owner: Object, node: Object) -> DaemonState:
    """Return the standing of a node for a DaemonSet (NodeShouldRunDaemonPod)."""
    spec = owner["spec"]["template"]["spec"]
    wanted = spec.get("nodeName")
    if wanted and wanted != node["metadata"]["name"]:
        return DaemonState(should_run=False, may_stay=False)
    if not matching.fits_node(spec, node):
        return DaemonState(should_run=False, may_stay=False)
    own, taints = tolerations(spec), node["spec"].get("taints") or []
    if matching.untolerated_taint(own, taints, ("NoExecute",)) is not None:
        return DaemonState(should_run=False, may_stay=False)
    refused = matching.untolerated_taint(own, taints, ("NoSchedule",)) is not None
    return DaemonState(should_run=not refused, may_stay=True)


def target(pod: Object) -> str:
    """Return the node of a pod, or the node that its affinity names, or "" without one."""
    name = pod["spec"].get("nodeName")
    if name:
        return str(name)
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    for term in (affinity.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            if field["key"] == "metadata.name" and len(field.get("values") or ()) == 1:
                return str(field["values"][0])
    return ""


class DaemonSetController:
    """Creates and deletes the pods of one DaemonSet at a time, node by node."""

    def __init__(self, cluster: Cluster) -> None:
        self._clock = cluster.clock
        self._client = cluster.client()
        self._events = cluster.recorder(NAME)
        self._sets = cluster.informer(SETS)
        self._pods = cluster.informer(PODS)
        self._nodes = cluster.informer(NODES)
        self._claimable = cluster.claimable(PODS)
        self._claims = Claims(self._client, PODS, SETS)
        self._revisions = Revisions(cluster, self._client, SETS, label=HASH)
        self._failures: dict[tuple[str, str], tuple[int, float]] = {}
        """(uid of the set, node) → number of failed pods, and monotonic time of the next deletion.
        """

    def of_pod(self, change: Change) -> Iterator[Key]:
        """Yield the set of a pod, or the sets that can adopt it."""
        yield from named_owners(change, "DaemonSet")
        yield from map(Key.of, adopters(change, self._sets, own_selector))

    def of_node(self, change: Change) -> Iterator[Key]:
        """Yield the sets for which the standing of a node changed."""
        for owner in self._sets.items():
            before = state_on(owner, change.old) if change.old is not None else None
            after = state_on(owner, change.new) if change.new is not None else None
            if before != after:
                yield Key.of(owner)

    async def reconcile(self, key: Key) -> Result | None:
        """Take one step for a set, and write its status."""
        cached = self._sets.get(key)
        if cached is None:
            return None
        owner = templates.copy(cached)
        if not any((owner["spec"].get("selector") or {}).values()):
            text = "This daemon set is selecting all pods. A non-empty selector is required."
            await self._events.warning(owner, "SelectingAll", text)
            return None
        known = await self._revisions.of(owner)
        status: Object = owner.get("status") or {}
        annotations = owner["metadata"].get("annotations")
        revision, collisions = await self._revisions.current(
            owner, known, status.get("collisionCount") or 0, annotations
        )
        digest = revision["metadata"]["labels"][HASH]
        found = await self._claim_pods(owner)
        failure, wait = None, 0.0
        if not pods.is_deleting(owner):
            acted, failure, wait = await self._manage(owner, found, digest)
            if not acted and owner["spec"]["updateStrategy"]["type"] == "RollingUpdate":
                acted = await self._update(owner, found, digest)
            if acted:
                await self._pods.caught_up()
                found = await self._claim_pods(owner)
        later = await self._report(owner, found, digest, collisions)
        live = {revision["metadata"]["name"]}
        labels = (pod["metadata"].get("labels") or {} for pod in found)
        live |= {f"{owner['metadata']['name']}-{each.get(HASH, '')}" for each in labels}
        limit = owner["spec"].get("revisionHistoryLimit", 10)
        await self._revisions.trim(await self._revisions.of(owner), live, limit)
        if failure is not None:
            raise failure
        waits = [seconds for seconds in (wait, later or 0.0) if seconds > 0]
        return Result(requeue_after=min(waits)) if waits else None

    async def _claim_pods(self, owner: Object) -> list[Object]:
        selector = owner["spec"]["selector"]
        return await self._claims.claim(owner, selector, self._claimable(owner))

    def _by_node(self, owned_pods: list[Object]) -> dict[str, list[Object]]:
        by_node: dict[str, list[Object]] = {}
        for pod in owned_pods:
            by_node.setdefault(target(pod), []).append(pod)
        return by_node

    def _known_nodes(self) -> list[Object]:
        return sorted(self._nodes.items(), key=lambda node: str(node["metadata"]["name"]))

    # --- the wanted pods

    async def _manage(
        self, owner: Object, owned_pods: list[Object], digest: str
    ) -> tuple[bool, StatusError | None, float]:
        """Create and delete pods. Returns whether it did, the first error, and seconds until the
        next check (0: no check)."""
        by_node = self._by_node(owned_pods)
        needing: list[str] = []
        surplus: list[Object] = []
        wait = 0.0
        for node in self._known_nodes():
            name = node["metadata"]["name"]
            there = by_node.pop(name, [])
            judged = state_on(owner, node)
            if not there and judged.should_run:
                needing.append(name)
            elif there and not judged.may_stay:
                surplus += [pod for pod in there if not pods.is_deleting(pod)]
            elif there:
                gone, later = await self._surplus_on(owner, name, there, digest)
                surplus += gone
                wait = min(wait, later) if wait and later else wait or later
        for there in by_node.values():  # pods of deleted nodes, which cannot run
            surplus += [
                pod
                for pod in there
                if not pod["spec"].get("nodeName") and not pods.is_deleting(pod)
            ]
        failure = await self._create(owner, needing[:_BURST], digest)
        await writes.all_of(surplus[:_BURST], lambda pod: self._delete(owner, pod))
        return bool(needing or surplus), failure, wait

    async def _surplus_on(
        self, owner: Object, node: str, pods_on_node: list[Object], digest: str
    ) -> tuple[list[Object], float]:
        """Return the pods on one node to delete, and seconds until a failed pod can be deleted, or
        0."""
        gone: list[Object] = []
        living: list[Object] = []
        wait = 0.0
        for pod in pods_on_node:
            if pods.is_deleting(pod):
                continue
            if not pods.is_terminal(pod):
                living.append(pod)
                continue
            wait = self._wait_for(owner, node)
            if wait > 0:
                continue
            name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
            word = pods.phase(pod)
            text = f"Found {word.lower()} daemon pod {name} on node {node}, "
            text += "will try to kill it" if word == "Failed" else "will try to delete it"
            tell = self._events.warning if word == "Failed" else self._events.normal
            await tell(owner, f"{word}DaemonPod", text)
            gone.append(pod)
        if len(living) > 1:
            gone += self._duplicates(owner, living, digest)
        return gone, wait

    def _wait_for(self, owner: Object, node: str) -> float:
        """Return seconds until a failed pod on the node can be deleted. If it is 0, counts the
        failure."""
        key, now = (owner["metadata"]["uid"], node), self._clock.monotonic()
        count, until = self._failures.get(key, (0, now))
        if until > now:
            return until - now
        delay = _FAILED_POD_BACKOFF.delay(count + 1)
        self._failures[key] = (count + 1, now + delay)
        return 0.0

    def _duplicates(self, owner: Object, active_pods: list[Object], digest: str) -> list[Object]:
        """Return all living pods except the first one in the order scheduled, running, ready,
        oldest.

        With maxSurge, return all except the first pod with the set's template and the first pod
        with another template.
        """
        ordered = sorted(
            active_pods,
            key=lambda pod: (
                not pod["spec"].get("nodeName"),
                pods.phase(pod) != "Running",
                not pods.is_ready(pod),
                pod["metadata"]["creationTimestamp"],
                pod["metadata"]["name"],
            ),
        )
        if not self._surge(owner, 1):
            return ordered[1:]
        new = [pod for pod in ordered if _is_of(owner, pod, digest)]
        old = [pod for pod in ordered if not _is_of(owner, pod, digest)]
        return new[1:] + old[1:]

    def _surge(self, owner: Object, total: int) -> int:
        rolling = owner["spec"]["updateStrategy"].get("rollingUpdate") or {}
        return scaled_value(rolling.get("maxSurge"), total, up=True)

    # --- updates

    async def _update(self, owner: Object, owned_pods: list[Object], digest: str) -> bool:
        """Create or delete pods of an update (rollingUpdate). Returns whether it did."""
        by_node = self._by_node(owned_pods)
        wanted = [
            node["metadata"]["name"]
            for node in self._known_nodes()
            if state_on(owner, node).should_run
        ]
        surge = self._surge(owner, len(wanted))
        rolling = owner["spec"]["updateStrategy"].get("rollingUpdate") or {}
        away = scaled_value(rolling.get("maxUnavailable", 1), len(wanted), up=True)
        if not surge and not away:
            away = 1
        new: dict[str, list[Object]] = {}
        old: dict[str, list[Object]] = {}
        for name in wanted:
            living = [pod for pod in by_node.get(name, ()) if not pods.is_deleting(pod)]
            new[name] = [pod for pod in living if _is_of(owner, pod, digest)]
            old[name] = [pod for pod in living if not _is_of(owner, pod, digest)]
        if surge:
            return await self._surge_step(owner, wanted, new, old, surge, digest)
        missing, replaced, candidates = 0, [], []
        for name in wanted:
            if len(new[name]) + len(old[name]) != 1:
                missing += 1
            elif new[name]:
                missing += not self._is_available(owner, new[name][0])
            elif not self._is_available(owner, old[name][0]):
                replaced.append(old[name][0])
                missing += 1
            else:
                candidates.append(old[name][0])
        gone = replaced + candidates[: max(away - missing, 0)]
        await writes.all_of(gone, lambda pod: self._delete(owner, pod))
        return bool(gone)

    async def _surge_step(
        self,
        owner: Object,
        target_nodes: list[str],
        new: dict[str, list[Object]],
        old: dict[str, list[Object]],
        surge: int,
        digest: str,
    ) -> bool:
        """Take one step of a rolling update with maxSurge: create new pods, and delete an old pod
        when the new pod on its node is available. Returns whether it acted."""
        used, at_once, candidates, gone = 0, [], [], []
        for name in target_nodes:
            if not old[name]:
                continue
            if new[name]:
                if self._is_available(owner, new[name][0]):
                    gone += old[name]
                else:
                    used += 1
            elif self._is_available(owner, old[name][0]):
                candidates.append(name)
            else:
                at_once.append(name)
        nodes = at_once + candidates[: max(surge - used - len(at_once), 0)]
        failure = await self._create(owner, nodes[:_BURST], digest)
        await writes.all_of(gone, lambda pod: self._delete(owner, pod))
        if failure is not None:
            raise failure
        return bool(nodes or gone)

    def _is_available(self, owner: Object, pod: Object) -> bool:
        least = owner["spec"].get("minReadySeconds") or 0
        return pods.available_in(pod, least, self._clock.now()) == 0

    # --- pods

    async def _create(self, owner: Object, nodes: list[str], digest: str) -> StatusError | None:
        async def create(number: int) -> None:
            try:
                pod = await self._client.create(self._pod(owner, nodes[number], digest))
            except StatusError as error:
                await self._events.warning(
                    owner, "FailedCreate", f"Error creating: {error.message}"
                )
                raise
            name = pod["metadata"]["name"]
            await self._events.normal(owner, "SuccessfulCreate", f"Created pod: {name}")

        _, failure = await writes.in_batches(len(nodes), create)
        return failure

    def _pod(self, owner: Object, node: str, digest: str) -> Object:
        body = templates.pod(owner["spec"]["template"], owner)
        meta, spec = body["metadata"], body["spec"]
        generation = (owner["metadata"].get("annotations") or {}).get(_GENERATION, "1")
        own = {_POD_GENERATION: generation, HASH: digest}
        meta["labels"] = {**(meta.get("labels") or {}), **own}
        spec["tolerations"] = tolerations(spec)
        affinity = spec.get("affinity") or {}
        field = {"key": "metadata.name", "operator": "In", "values": [node]}
        spec["affinity"] = {
            **affinity,
            "nodeAffinity": {
                **(affinity.get("nodeAffinity") or {}),
                _REQUIRED: {"nodeSelectorTerms": [{"matchFields": [field]}]},
            },
        }
        return body

    async def _delete(self, owner: Object, pod: Object) -> None:
        if await writes.delete(self._client, PODS, pod):
            name = pod["metadata"]["name"]
            await self._events.normal(owner, "SuccessfulDelete", f"Deleted pod: {name}")

    # --- status

    async def _report(
        self, owner: Object, owned_pods: list[Object], digest: str, collisions: int
    ) -> float | None:
        """Write the status. Returns seconds until the next pod becomes available, or None."""
        by_node = self._by_node(owned_pods)
        counts = dict.fromkeys(
            ("desired", "current", "misscheduled", "ready", "updated", "available"), 0
        )
        later: float | None = None
        least = owner["spec"].get("minReadySeconds") or 0
        for node in self._known_nodes():
            there = by_node.get(node["metadata"]["name"], [])
            if not state_on(owner, node).should_run:
                counts["misscheduled"] += bool(there)
                continue
            counts["desired"] += 1
            if not there:
                continue
            counts["current"] += 1
            pod = min(there, key=lambda each: int(each["metadata"]["resourceVersion"]))
            pod = next((each for each in there if pods.is_ready(each)), pod)
            tally = pods.Tally([pod], least, self._clock.now())
            counts["ready"] += tally.ready
            counts["available"] += tally.available
            counts["updated"] += _is_of(owner, pod, digest)
            if tally.next_available is not None:
                later = min(later or tally.next_available, tally.next_available)
        status: Object = {
            "currentNumberScheduled": counts["current"],
            "numberMisscheduled": counts["misscheduled"],
            "desiredNumberScheduled": counts["desired"],
            "numberReady": counts["ready"],
            "observedGeneration": owner["metadata"]["generation"],
        }
        optional = {
            "updatedNumberScheduled": counts["updated"],
            "numberAvailable": counts["available"],
            "numberUnavailable": counts["desired"] - counts["available"],
            "collisionCount": collisions,
        }
        status |= {member: count for member, count in optional.items() if count}
        written = await writes.write_status(self._client, owner, status)
        if written is not None and written is not owner:
            await self._sets.wait_for_write(written)
        return later


def _is_of(owner: Object, pod: Object, digest: str) -> bool:
    """Return whether the pod has the template of its set (IsPodUpdated)."""
    labels = pod["metadata"].get("labels") or {}
    generation = (owner["metadata"].get("annotations") or {}).get(_GENERATION)
    same = generation is not None and labels.get(_POD_GENERATION) == generation
    return same or labels.get(HASH) == digest


def add(cluster: Cluster) -> None:
    """Run the DaemonSet controller."""
    controller = DaemonSetController(cluster)
    cluster.manager.add(
        Controller(
            NAME,
            writes.patient(controller.reconcile),
            (Watch(SETS), Watch(PODS, controller.of_pod), Watch(NODES, controller.of_node)),
        )
    )
