"""ReplicaSets and ReplicationControllers: a wanted number of pods from a template.

Follows pkg/controller/replicaset, which serves both kinds.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from inkube.client import Object
from inkube.controllers.workloads import pods, templates, writes
from inkube.controllers.workloads.claims import (
    Claims,
    adopters,
    controller_of,
    matcher,
    named_owners,
)
from inkube.controllers.workloads.cluster import PODS, Cluster
from inkube.controllers.workloads.rosters import Facts, Roster
from inkube.formats import format_time
from inkube.kinds import Backoff, Change, Controller, Key, Result, StatusError, Watch

REPLICA_SETS = "apps/v1/replicasets"
QUOTAS = "v1/resourcequotas"
_FAILURE = "ReplicaFailure"
_REFUSED = Backoff(first=1.0, longest=1000.0)


class Sort(NamedTuple):
    """The differences between the two kinds."""

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
    """Maintains the wanted number of pods of one owner at a time, and writes its status."""

    def __init__(self, cluster: Cluster, sort: Sort) -> None:
        self._sort = sort
        self._clock = cluster.clock
        self._client = cluster.client()
        self._events = cluster.recorder(sort.name)
        self._sets = cluster.informer(sort.resource)
        self._pods = cluster.informer(PODS)
        self._rosters = cluster.rosters()
        self._siblings = cluster.by_controller(sort.resource)
        self._claims = Claims(self._client, PODS, sort.resource)
        self._refused: dict[Key, int] = {}
        """Owner → number of consecutive refusals of a pod. A change of a quota causes a retry."""

    def selector(self, owner: Object) -> Object:
        """Return the owner's selector as a LabelSelector."""
        selector: Object = owner["spec"].get("selector") or {}
        is_map = self._sort.kind == "ReplicationController"
        return {"matchLabels": selector} if is_map else selector

    def of_pod(self, change: Change) -> Iterator[Key]:
        """Yield the owners of a pod before and after a change, or those that can adopt it."""
        for key in named_owners(change, self._sort.kind):
            owner = self._sets.get(key)
            if owner is None or not self._counts_alike(owner, change):
                yield key
        yield from map(Key.of, adopters(change, self._sets, self.selector))

    def _counts_alike(self, owner: Object, change: Change) -> bool:
        """Return whether a change of a pod does not matter to its owner, for example a binding to a
        node.

        A change of a pod that does not match the selector matters: the release is attempted again.
        """
        old, new = change.old, change.new
        if old is None or new is None or controller_of(old) != controller_of(new):
            return False
        facts = Facts.of(new)
        return Facts.of(old) == facts and self._matcher(owner)(facts)

    def of_quota(self, change: Change) -> Iterable[Key]:
        """Return the owners in the quota's namespace to which a pod was refused."""
        namespace = change.object["metadata"]["namespace"]
        return [key for key in self._refused if key.namespace == namespace]

    async def reconcile(self, key: Key) -> Result | None:
        """Take one step toward the wanted number, and write the status."""
        owner = self._sets.get(key)
        if owner is None:
            self._refused.pop(key, None)
            return None
        await self._claim(owner)
        failure = None
        if not pods.is_deleting(owner):
            failure = await self._manage(owner)
        if failure is not None:
            self._refused[key] = self._refused.get(key, 0) + 1
            wait = _REFUSED.delay(self._refused[key])
        else:
            wait = 0.0
            self._refused.pop(key, None)
        status, next_available = self._status(owner, failure)
        written = await writes.write_status(self._client, owner, status)
        if written is not None and written is not owner:
            await self._sets.wait_for_write(written)
        waits = [seconds for seconds in (wait, next_available) if seconds]
        return Result(requeue_after=min(waits)) if waits else None

    def _matcher(self, owner: Object) -> Callable[[Facts], bool]:
        """Return a function that returns whether the owner's selector matches pods
        with such facts."""
        selects = matcher(self.selector(owner))
        return lambda facts: selects(dict(facts.labels))

    def _roster(self, owner: Object) -> Roster:
        """Return the pods that name the owner as their controller."""
        return self._rosters.of(owner["metadata"]["uid"])

    def _cached(self, keys: list[Key]) -> list[Object]:
        return [pod for pod in map(self._pods.get, keys) if pod is not None]

    async def _claim(self, owner: Object) -> None:
        """Adopt matching pods without a controller and release pods that do not match. Checks only
        such pods."""
        fits = self._matcher(owner)
        odd = self._roster(owner).keys(lambda facts: not fits(facts))
        odd += self._rosters.strays(owner["metadata"]["namespace"]).keys(fits)
        if odd and await self._claims.claim(owner, self.selector(owner), self._cached(odd)):
            await self._pods.caught_up()

    async def _manage(self, owner: Object) -> StatusError | None:
        """Create missing pods or delete surplus pods. Returns the first error, if any."""
        fits, roster = self._matcher(owner), self._roster(owner)

        def counts(facts: Facts) -> bool:
            return facts.is_active and fits(facts)

        missing = (owner["spec"].get("replicas") or 0) - roster.count(counts)
        if not missing:
            return None
        if missing > 0:
            return await self._create(owner, min(missing, writes.BURST))
        active = self._cached(roster.keys(counts))
        surplus = pods.by_deletion(active, self._siblings_by_node(owner))
        surplus = surplus[: min(-missing, writes.BURST)]
        await writes.all_of(surplus, lambda pod: self._delete(owner, pod))
        await self._pods.caught_up()
        return None

    async def _create(self, owner: Object, count: int) -> StatusError | None:
        body = templates.pod(owner["spec"]["template"], owner)

        async def create(_: int) -> None:
            try:
                pod = await self._client.create(body)
            except StatusError as error:
                if not writes.is_ending(error):
                    await self._events.warning(
                        owner, "FailedCreate", f"Error creating: {error.message}"
                    )
                raise
            name = pod["metadata"]["name"]
            await self._events.normal(owner, "SuccessfulCreate", f"Created pod: {name}")

        made, failure = await writes.in_batches(count, create)
        if made:
            await self._pods.caught_up()
        return None if failure is not None and writes.is_ending(failure) else failure

    async def _delete(self, owner: Object, pod: Object) -> None:
        if await writes.delete(self._client, PODS, pod):
            name = pod["metadata"]["name"]
            await self._events.normal(owner, "SuccessfulDelete", f"Deleted pod: {name}")

    def _siblings_by_node(self, owner: Object) -> Counter[str]:
        """Node → active pods of this set and of the other sets of its controller."""
        nodes: Counter[str] = Counter()
        for sibling in self._related_sets(owner):
            nodes.update(self._rosters.of(sibling["metadata"]["uid"]).nodes)
        return nodes

    def _related_sets(self, owner: Object) -> list[Object]:
        """Return the sets with the same controller as the owner; the owner alone without a
        controller."""
        reference = controller_of(owner)
        if reference is None:
            return [owner]
        found = map(self._sets.get, self._siblings.keys(reference["uid"]))
        return [each for each in found if each is not None]

    def _status(self, owner: Object, failure: StatusError | None) -> tuple[Object, float]:
        """Return the status, and seconds until the next pod becomes available, or 0."""
        before: Object = owner.get("status") or {}
        labels = (owner["spec"]["template"].get("metadata") or {}).get("labels") or {}
        wanted, fits, roster = labels.items(), self._matcher(owner), self._roster(owner)

        def count(matches: Callable[[Facts], bool]) -> int:
            return roster.count(lambda facts: matches(facts) and fits(facts))

        ready = count(lambda facts: facts.is_active and facts.is_ready)
        available, next_available = ready, 0.0
        least = owner["spec"].get("minReadySeconds") or 0
        if least:
            keys = roster.keys(lambda facts: facts.is_active and facts.is_ready and fits(facts))
            tally = pods.Tally(self._cached(keys), least, self._clock.now())
            available, next_available = tally.available, tally.next_available or 0.0
        counts = {
            "fullyLabeledReplicas": count(lambda facts: facts.is_active and wanted <= facts.labels),
            "readyReplicas": ready,
            "availableReplicas": available,
        }
        status: Object = {"replicas": count(lambda facts: facts.is_active)}
        status.update((member, number) for member, number in counts.items() if number)
        if self._sort.counts_terminating:
            status["terminatingReplicas"] = count(lambda facts: facts.is_terminating)
        status["observedGeneration"] = owner["metadata"]["generation"]
        if before.get("conditions"):
            status["conditions"] = [dict(each) for each in before["conditions"]]
        if failure is None:
            writes.remove_condition(status, _FAILURE)
        elif pods.condition(owner, _FAILURE) is None:
            now = format_time(self._clock.now())
            writes.set_condition(status, _FAILURE, "True", "FailedCreate", failure.message, now=now)
        return status, next_available


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
            sums_up=True,
        )
    )


def add(cluster: Cluster) -> None:
    """Run the ReplicaSet controller."""
    _add(cluster, _SETS, _SETS.name)


def add_old(cluster: Cluster) -> None:
    """Run the ReplicationController controller."""
    _add(cluster, _OLD, "replicationcontroller-controller")
