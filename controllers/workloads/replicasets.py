"""ReplicaSets and ReplicationControllers: as many pods of a template as wanted.

Follows pkg/controller/replicaset, which serves both kinds.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from inkube.controllers.client import Object
from inkube.controllers.informer import Change, Key
from inkube.controllers.manager import Controller, Result, Watch
from inkube.controllers.workloads import pods, templates, writes
from inkube.controllers.workloads.claims import Claims, adopters, controller_of, named_owners
from inkube.controllers.workloads.cluster import PODS, Cluster
from inkube.controllers.workqueue import Backoff
from inkube.schemas.meta import format_time
from inkube.schemas.status import StatusError

REPLICA_SETS = "apps/v1/replicasets"
QUOTAS = "v1/resourcequotas"
_FAILURE = "ReplicaFailure"
_REFUSED = Backoff(first=1.0, longest=1000.0)


class Sort(NamedTuple):
    """In what the two kinds differ."""

    name: str
    resource: str
    kind: str
    counts_terminating: bool


_SETS = Sort("replicaset-controller", REPLICA_SETS, "ReplicaSet", counts_terminating=True)
_OLD = Sort(
    "replication-controller",
    "v1/replicationcontrollers",
    "ReplicationController",
    counts_terminating=False,
)


class ReplicaController:
    """Keeps the number of pods, and tells how they are."""

    def __init__(self, cluster: Cluster, sort: Sort) -> None:
        self._sort = sort
        self._clock = cluster.clock
        self._client = cluster.client()
        self._events = cluster.recorder(sort.name)
        self._sets = cluster.informer(sort.resource)
        self._pods = cluster.informer(PODS)
        self._owned = cluster.owned(PODS)
        self._siblings = cluster.owned(sort.resource)
        self._claims = Claims(self._client, PODS, sort.resource)
        self._refused: dict[Key, int] = {}
        """How often in a row a pod was refused; these look again when a quota changes."""

    def selector(self, owner: Object) -> Object:
        """Its selector as a LabelSelector."""
        selector: Object = owner["spec"].get("selector") or {}
        is_map = self._sort.kind == "ReplicationController"
        return {"matchLabels": selector} if is_map else selector

    def of_pod(self, change: Change) -> Iterator[Key]:
        """The set that a pod belonged to or belongs to, or might adopt it."""
        yield from named_owners(change, self._sort.kind)
        yield from map(Key.of, adopters(change, self._sets, self.selector))

    def of_quota(self, change: Change) -> Iterable[Key]:
        """Those that were refused a pod in the quota's namespace."""
        namespace = change.object["metadata"]["namespace"]
        return [key for key in self._refused if key.namespace == namespace]

    async def reconcile(self, key: Key) -> Result | None:
        """One step towards the wanted number, and the status."""
        owner = self._sets.get(key)
        if owner is None:
            self._refused.pop(key, None)
            return None
        mine = await self._claimed(owner)
        active = [pod for pod in mine if pods.is_active(pod)]
        going = [pod for pod in mine if pods.is_deleting(pod)]
        failure = None
        if not pods.is_deleting(owner):
            active, failure = await self._manage(owner, active)
        if failure is not None:
            self._refused[key] = self._refused.get(key, 0) + 1
            wait = _REFUSED.delay(self._refused[key])
        else:
            wait = 0.0
            self._refused.pop(key, None)
        terminating = sum(map(pods.is_terminating, going))
        status, next_available = self._status(owner, active, terminating, failure)
        written = await writes.write_status(self._client, owner, status)
        if written is not None and written is not owner:
            await self._sets.reach(int(written["metadata"]["resourceVersion"]))
        waits = [seconds for seconds in (wait, next_available) if seconds]
        return Result(requeue_after=min(waits)) if waits else None

    async def _claimed(self, owner: Object) -> list[Object]:
        meta = owner["metadata"]
        found = self._owned.keys(meta["uid"]) + self._owned.keys(f"none/{meta['namespace']}")
        candidates = [pod for pod in map(self._pods.get, found) if pod is not None]
        return await self._claims.claim(owner, self.selector(owner), candidates)

    async def _manage(
        self, owner: Object, active: list[Object]
    ) -> tuple[list[Object], StatusError | None]:
        """Create what is missing or delete what is too much; the pods that are left, a failure."""
        missing = (owner["spec"].get("replicas") or 0) - len(active)
        if not missing:
            return active, None
        if missing > 0:
            return await self._create(owner, active, min(missing, writes.AT_MOST))
        surplus = self._chosen(owner, active)[: min(-missing, writes.AT_MOST)]
        await writes.all_of(surplus, lambda pod: self._delete(owner, pod))
        await self._pods.caught_up()
        gone = {pod["metadata"]["uid"] for pod in surplus}
        return [pod for pod in active if pod["metadata"]["uid"] not in gone], None

    async def _create(
        self, owner: Object, active: list[Object], count: int
    ) -> tuple[list[Object], StatusError | None]:
        body = templates.pod(owner["spec"]["template"], owner)
        made: list[Object] = []

        async def create(_: int) -> None:
            try:
                pod = await self._client.create(body)
            except StatusError as error:
                if not writes.is_ending(error):
                    await self._events.warning(
                        owner, "FailedCreate", f"Error creating: {error.message}"
                    )
                raise
            made.append(pod)
            name = pod["metadata"]["name"]
            await self._events.normal(owner, "SuccessfulCreate", f"Created pod: {name}")

        _, failure = await writes.in_batches(count, create)
        if made:
            await self._pods.caught_up()
        if failure is not None and writes.is_ending(failure):
            failure = None
        return active + made, failure

    async def _delete(self, owner: Object, pod: Object) -> None:
        if await writes.delete(self._client, PODS, pod):
            name = pod["metadata"]["name"]
            await self._events.normal(owner, "SuccessfulDelete", f"Deleted pod: {name}")

    def _chosen(self, owner: Object, active: list[Object]) -> list[Object]:
        """The active pods, those that go first in front."""
        nodes: Counter[str] = Counter()
        for sibling in self._related(owner):
            for key in self._owned.keys(sibling["metadata"]["uid"]):
                pod = self._pods.get(key)
                if pod is not None and pods.is_active(pod) and pod["spec"].get("nodeName"):
                    nodes[pod["spec"]["nodeName"]] += 1
        return pods.by_deletion(active, nodes)

    def _related(self, owner: Object) -> list[Object]:
        """The sets of the same controller."""
        reference = controller_of(owner)
        if reference is None:
            return [owner]
        found = map(self._sets.get, self._siblings.keys(reference["uid"]))
        return [each for each in found if each is not None]

    def _status(
        self, owner: Object, active: list[Object], terminating: int, failure: StatusError | None
    ) -> tuple[Object, float]:
        """The status, and when to look again for availability."""
        before: Object = owner.get("status") or {}
        tally = pods.Tally(active, owner["spec"].get("minReadySeconds") or 0, self._clock.now())
        labels = (owner["spec"]["template"].get("metadata") or {}).get("labels") or {}
        wanted = labels.items()
        full = sum(wanted <= (pod["metadata"].get("labels") or {}).items() for pod in active)
        status: Object = {"replicas": len(active)}
        counts = (
            ("fullyLabeledReplicas", full),
            ("readyReplicas", tally.ready),
            ("availableReplicas", tally.available),
        )
        status.update((member, count) for member, count in counts if count)
        if self._sort.counts_terminating:
            status["terminatingReplicas"] = terminating
        status["observedGeneration"] = owner["metadata"]["generation"]
        if before.get("conditions"):
            status["conditions"] = [dict(each) for each in before["conditions"]]
        if failure is None:
            writes.remove_condition(status, _FAILURE)
        elif pods.condition(owner, _FAILURE) is None:
            now = format_time(self._clock.now())
            writes.set_condition(status, _FAILURE, "True", "FailedCreate", failure.message, now=now)
        return status, tally.next_available or 0.0


def _add(cluster: Cluster, sort: Sort, name: str) -> None:
    controller = ReplicaController(cluster, sort)
    cluster.manager.add(
        Controller(
            name,
            writes.patient(controller.reconcile),
            (
                Watch(sort.resource),
                Watch(PODS, controller.of_pod),
                Watch(QUOTAS, controller.of_quota),
            ),
        )
    )


def add(cluster: Cluster) -> None:
    """Run the ReplicaSet controller."""
    _add(cluster, _SETS, _SETS.name)


def add_old(cluster: Cluster) -> None:
    """Run the ReplicationController controller."""
    _add(cluster, _OLD, "replicationcontroller-controller")
