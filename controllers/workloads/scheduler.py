"""The scheduler: binds pods to nodes, reports reasons if it cannot, and preempts other pods.

Follows pkg/scheduler, without its configuration. `scheduling` makes the decisions. A decision does
not await anything. The scheduler assumes its result until the caches contain it, so that later
decisions consider it.
"""

import math
from collections.abc import Iterable, Iterator

from inkube.client import Object
from inkube.controllers.workloads import pods, writes
from inkube.controllers.workloads.capacity import PodOnNode
from inkube.controllers.workloads.claims import is_controlled_by
from inkube.controllers.workloads.cluster import NODES, PODS, Cluster
from inkube.controllers.workloads.devices import CLAIMS, CLASSES, SINCE, SLICES, podclaims
from inkube.controllers.workloads.devices.requests import AllocationError
from inkube.controllers.workloads.scheduling import filters, preemption
from inkube.controllers.workloads.scheduling.devices import Devices, Plan, UnusableClaimsError
from inkube.controllers.workloads.scheduling.nodes import Nodes
from inkube.controllers.workloads.scheduling.preemption import Victims
from inkube.controllers.workloads.scheduling.volumes import Volumes
from inkube.formats import format_time, selectors
from inkube.kinds import Change, Controller, Key, Result, SeriesRecorder, StatusError, Watch

NAME = "kube-scheduler"
SCHEDULER = "default-scheduler"
BUDGETS = "policy/v1/poddisruptionbudgets"
NAMESPACES = "v1/namespaces"
VOLUME_KINDS = (
    "v1/persistentvolumeclaims",
    "v1/persistentvolumes",
    "storage.k8s.io/v1/storageclasses",
)
_AT_LATEST = 300.0
"""Seconds until the next attempt for a pod that was not placed."""
_RETRY_SOON, _RETRY_LATE = 1.0, 10.0
"""Seconds until the next attempt after an error: at first, and at most
(DefaultPodInitialBackoffDuration, DefaultPodMaxBackoffDuration)."""
_ERROR = "SchedulerError"
_NO_NODES = "no nodes available to schedule pods"


def is_pending(pod: Object) -> bool:
    """Return whether the pod waits for a node from this scheduler."""
    spec = pod["spec"]
    return (
        not spec.get("nodeName")
        and spec.get("schedulerName", SCHEDULER) == SCHEDULER
        and not pods.is_deleting(pod)
        and not pods.is_terminal(pod)
        and not spec.get("schedulingGates")
    )


class Scheduler:
    """Places one pod at a time, and records pods without a fitting node and pods being bound."""

    def __init__(self, cluster: Cluster) -> None:
        self._clock = cluster.clock
        self._bind = cluster.server.bind
        self._client = cluster.client(NAME)
        self.events = SeriesRecorder(
            self._client, self._clock, cluster.manager.event_names, SCHEDULER
        )
        self._pods = cluster.informer(PODS)
        self._budgets = cluster.informer(BUDGETS)
        self._namespaces = cluster.informer(NAMESPACES)
        self._volumes = Volumes(cluster, self._client)
        knows_devices = cluster.server.find_kind(*SINCE) is not None
        self.devices = Devices(cluster, self._client) if knows_devices else None
        """The devices for claims; None on a server that does not know claims."""
        self._nodes = Nodes()
        self._pending: dict[Key, float] = {}
        """Pods without a fitting node, in the order of the failed attempts → the time of their last
        event, in seconds of the clock."""
        self._assumed: dict[str, Key] = {}
        """uid → key of pods being bound. Events about them are older than the scheduler's state."""

    # --- changes

    def of_pod(self, change: Change) -> Iterator[Key]:
        """Yield a pod to place; all waiting pods if the change released resources."""
        pod = change.object
        key = Key.of(pod)
        if change.old is not None and (
            change.new is None or change.new["metadata"]["uid"] != change.old["metadata"]["uid"]
        ):
            self._leave(change.old)
            self._nodes.withdraw(change.old["metadata"]["uid"])
            self._pending.pop(key, None)
            if change.old["spec"].get("nodeName"):
                yield from self._pending
        if change.new is None:
            return
        self._note_nomination(pod)
        name = pod["spec"].get("nodeName")
        if name:
            self._assumed.pop(pod["metadata"]["uid"], None)
            self._pending.pop(key, None)
            if pods.is_terminal(pod):
                self._nodes.remove(pod["metadata"]["uid"])
                if change.old is not None and not pods.is_terminal(change.old):
                    yield from self._pending
            elif change.old is None or _is_placed_anew(change.old, pod):
                self._nodes.add_pod(PodOnNode(pod), name)
                if self._pending:
                    yield from self._near_ones()
            else:
                self._nodes.refresh(pod)
        elif is_pending(pod) and (change.old is None or _matters(change.old, pod)):
            yield key

    def _note_nomination(self, pod: Object) -> None:
        nominated = (pod.get("status") or {}).get("nominatedNodeName")
        if nominated and is_pending(pod):
            self._nodes.nominate(PodOnNode(pod), nominated)
        else:
            self._nodes.withdraw(pod["metadata"]["uid"])

    def _leave(self, pod: Object) -> None:
        uid = pod["metadata"]["uid"]
        self._assumed.pop(uid, None)
        self._nodes.remove(uid)

    def _near_ones(self) -> Iterator[Key]:
        """Yield the waiting pods with pod affinity."""
        for key in self._pending:
            pod = self._pods.get(key)
            if pod is not None and (pod["spec"].get("affinity") or {}).get("podAffinity"):
                yield key

    def of_node(self, change: Change) -> Iterable[Key]:
        """Return all waiting pods, if a node is new or a relevant part of it changed."""
        if change.new is None:
            self._nodes.forget(change.object["metadata"]["name"])
            return ()
        old, new = change.old, change.new
        is_same = old is not None and _node_parts(old) == _node_parts(new)
        self._nodes.update(new)
        return () if is_same else list(self._pending)

    def of_volume(self, change: Change) -> Iterable[Key]:
        """Return the waiting pods with claims."""
        return [
            key
            for key in self._pending
            if (pod := self._pods.get(key)) is not None and _has_claims(pod)
        ]

    def of_claim(self, change: Change) -> Iterator[Key]:
        """Yield the waiting pods that need devices, if the claim is theirs or was released."""
        if self.devices is not None:
            claim, released = change.object, self.devices.on_claim(change)
            for key, pod in self._with_devices():
                own = {each.name for each in podclaims.named(pod)}
                if released or claim["metadata"]["name"] in own or is_controlled_by(claim, pod):
                    yield key

    def of_devices(self, change: Change) -> Iterator[Key]:
        """Yield the waiting pods that need devices."""
        for key, _ in self._with_devices():
            yield key

    def _with_devices(self) -> Iterator[tuple[Key, Object]]:
        for key in self._pending:
            pod = self._pods.get(key)
            if pod is not None and self.devices is not None and self.devices.concern(pod):
                yield key, pod

    # --- placing

    async def reconcile(self, key: Key) -> Result | None:
        """Place one pod, or report the reason against it."""
        pod = self._pods.get(key)
        if pod is None or not is_pending(pod) or pod["metadata"]["uid"] in self._assumed:
            self._pending.pop(key, None)
            return None
        devices = self.devices
        if devices is not None and not devices.concern(pod):
            devices = None
        if devices is not None and devices.gate(pod):
            self._pending.setdefault(key, -math.inf)  # as in kube-scheduler, without a condition
            return None
        problem = self._volumes.problem(pod)
        if problem:
            return await self._handle_failure(
                key, pod, f"0/{len(self._nodes)} nodes are available: {problem}. not found"
            )
        try:
            plan = None if devices is None else devices.plan(pod)
        except (UnusableClaimsError, AllocationError) as error:
            return await self._handle_failure(key, pod, self._unusable(str(error)))
        wish = filters.PendingPod(
            pod,
            self._nodes,
            volumes=self._volumes.filter(pod),
            devices=None if plan is None else plan.refusal,
            is_provided=None if devices is None else devices.provide,
            namespaces=self._labels_of,
        )
        if not len(self._nodes):
            return await self._handle_failure(key, pod, _NO_NODES)
        try:
            fit = filters.fitting_nodes(wish, self._nodes)
        except AllocationError as error:
            text = f'running "DynamicResources" filter plugin: {error}'
            return await self._handle_failure(key, pod, text, reason=_ERROR)
        candidates = fit.nodes
        if not candidates:
            self._pending.setdefault(key, -math.inf)  # what it lacks can be free before it is told
            return await self._preempt(key, pod, wish, fit, await self._release(pod, plan))
        nominated = (pod.get("status") or {}).get("nominatedNodeName")
        chosen = next((each for each in candidates if each.name == nominated), None)
        place = chosen or filters.best_node(wish, candidates, plan.score if plan else None)
        node = place.name
        self._nodes.withdraw(wish.as_placed.uid)
        self._nodes.add_pod(wish.as_placed, node)
        self._assumed[wish.as_placed.uid] = key
        # a change during the reservations brings the pod back (active_queue.go, inFlightEvents)
        self._pending[key] = -math.inf
        if devices is not None and plan is not None:
            devices.assume(plan, node)
        step = 'PreBind plugin "VolumeBinding"'
        try:
            if not await self._volumes.reserve(pod, place.object):
                self._leave(pod)
                return Result(requeue_after=_AT_LATEST)
            if devices is not None and plan is not None:
                step = 'PreBind plugin "DynamicResources"'
                wait = await self._prepare_devices(pod, devices, plan, node)
                if wait is not None:
                    self._leave(pod)
                    return Result(requeue_after=wait)
            self._pending.pop(key, None)
            step = 'Bind plugin "DefaultBinder"'
            await self._bind(pod, node)
        except StatusError as error:
            self._leave(pod)
            if devices is not None and plan is not None:
                await devices.abandon(plan)
            return await self._retry(key, pod, f"running {step}: {error}")
        finally:
            if devices is not None and plan is not None:
                devices.forget(plan)
        name = f"{key.namespace}/{key.name}"
        message = f"Successfully assigned {name} to {node}"
        await self.events.record(pod, "Normal", "Scheduled", message, action="Binding")
        return None

    async def _retry(self, key: Key, pod: Object, why: str) -> Result | None:
        """Report an error of a step after the choice of the node, and try the pod again soon
        (handleBindingCycleError). A pod that ended, or that somebody else placed, has an event."""
        current = self._pods.get(key)
        if current is None or current["metadata"]["uid"] != pod["metadata"]["uid"]:
            return None
        if not is_pending(current):
            return None
        known = pods.condition(current, "PodScheduled") or {}
        waited = 0.0
        if known.get("reason") == _ERROR:
            waited = (self._clock.now() - pods.moment(known["lastTransitionTime"])).total_seconds()
        done = await self._handle_failure(key, current, why, reason=_ERROR)
        if not done.requeue_after:
            return done
        return Result(requeue_after=min(max(waited, _RETRY_SOON), _RETRY_LATE))

    async def _prepare_devices(
        self, pod: Object, devices: Devices, plan: Plan, node: str
    ) -> float | None:
        """Reserve the devices of a pod. Returns None, or the seconds in which drivers must fulfill
        their conditions first."""
        is_new = bool(plan.chosen)
        if await devices.reserve(pod, plan, node):
            return None
        if is_new:
            text = f"waiting for binding conditions for device on node {node}"
            await self.events.record(
                pod, "Normal", "BindingConditionsPending", text, action="Scheduling"
            )
        return devices.seconds_to_wait(plan)

    async def _release(self, pod: Object, plan: Plan | None) -> str:
        """Release a claim that keeps the pod from all nodes. Returns the message about it."""
        if plan is None or self.devices is None:
            return preemption.NO_CLAIMS
        try:
            released = await self.devices.release(plan, pod)
        except StatusError as error:
            if error.code not in (404, 409):
                raise
            released = ""  # it changed, and its event brings the pod back
        return released or "still not schedulable"

    def _unusable(self, why: str) -> str:
        """Return the message for a pod whose claims prevent its scheduling on every node."""
        count = len(self._nodes)
        after = f"{preemption.NO_CLAIMS}, {preemption.not_helpful(count)}"
        return f"0/{count} nodes are available: {why}. {after}"

    def _labels_of(self, namespace: str) -> dict[str, str]:
        found = self._namespaces.get(Key("", namespace))
        return ((found or {}).get("metadata") or {}).get("labels") or {}

    async def _handle_failure(
        self,
        key: Key,
        pod: Object,
        message: str,
        *,
        nominated: str | None = None,
        reason: str = "Unschedulable",
    ) -> Result:
        """Write the reason why the pod waits, and its nominated node (None: the same, "": none).
        The next attempt is in five minutes at the latest.

        An earlier attempt without a new result has no event: kube-scheduler makes none after a
        change that cannot let the pod be placed (QueueingHint).
        """
        told, now = self._pending.setdefault(key, -math.inf), self._clock.monotonic()
        status = {**(pod.get("status") or {})}
        if nominated is not None:
            status.pop("nominatedNodeName", None)
            status |= {"nominatedNodeName": nominated} if nominated else {}
            self._nodes.nominate(PodOnNode(pod), nominated)
        present = pods.condition(pod, "PodScheduled")
        is_news = present is None or present.get("message") != message
        if is_news:
            status["conditions"] = _with_condition(
                status, "PodScheduled", "False", reason, message,
                now=format_time(self._clock.now()), generation=pod["metadata"].get("generation"),
            )  # fmt: skip
        written = await writes.write_status(self._client, pod, status)
        if written is None:
            return Result()
        if is_news or now - told >= _AT_LATEST:
            self._pending[key] = now
            await self.events.record(
                pod, "Warning", "FailedScheduling", message, action="Scheduling"
            )
        return Result(requeue_after=_AT_LATEST)

    async def _preempt(
        self,
        key: Key,
        pod: Object,
        wish: filters.PendingPod,
        fitting: filters.FittingNodes,
        about_claims: str,
    ) -> Result:
        refusals = fitting.refusals.values()
        if self._is_promised(pod):
            why = "not eligible due to a terminating pod on the nominated node."
            after = f"{about_claims}, preemption: {why}"
            return await self._handle_failure(
                key, pod, filters.explain(len(self._nodes), refusals, after)
            )
        victims, after = preemption.choose_victims(wish, self._nodes, fitting, self._budgets_of)
        after = f"{about_claims}, {after}" if after else ""
        message = filters.explain(len(self._nodes), refusals, after)
        if victims is None:
            keeps = None if wish.spec.get("preemptionPolicy") == "Never" else ""
            return await self._handle_failure(key, pod, message, nominated=keeps)
        name = victims.node.name
        self._nodes.nominate(wish.as_placed, name)  # before anything is awaited
        # As in kube-scheduler, the pod gets its nominated node after the deletion of the victims.
        await self._evict(pod, victims)
        await self._clear_nominations(name, wish.as_placed)
        return await self._handle_failure(key, pod, message, nominated=name)

    async def _clear_nominations(self, name: str, winner: PodOnNode) -> None:
        """Withdraw the nominations of less important pods to a node: they choose again."""
        for other in self._nodes.outranked(name, winner):
            self._nodes.withdraw(other.uid)
            found = self._pods.get(Key(other.namespace, other.pod["metadata"]["name"]))
            if found is not None and found["metadata"]["uid"] == other.uid:
                status = {**(found.get("status") or {})}
                status.pop("nominatedNodeName", None)
                await writes.write_status(self._client, found, status)

    def _is_promised(self, pod: Object) -> bool:
        """Return whether a pod with a lower priority is in deletion on the pod's nominated node."""
        node = self._nodes.get((pod.get("status") or {}).get("nominatedNodeName") or "")
        if node is None:
            return False
        priority = pod["spec"].get("priority") or 0
        return any(
            each.priority < priority
            and (there := self._pods.get(Key(each.namespace, each.pod["metadata"]["name"])))
            is not None
            and pods.is_deleting(there)
            for each in node.pods.values()
        )

    async def _evict(self, pod: Object, victims: Victims) -> None:
        message = f"{SCHEDULER}: preempting to accommodate a higher priority pod"
        for victim in victims.pods:
            found = self._pods.get(Key(victim.namespace, victim.pod["metadata"]["name"]))
            if found is None or pods.is_deleting(found):
                continue
            status = {**(found.get("status") or {})}
            status["conditions"] = _with_condition(
                status, "DisruptionTarget", "True", "PreemptionByScheduler", message,
                now=format_time(self._clock.now()), generation=found["metadata"].get("generation"),
            )  # fmt: skip
            await writes.write_status(self._client, found, status)
            await writes.delete(self._client, PODS, found)
            told = f"Preempted by pod {pod['metadata']['uid']} on node {victims.node.name}"
            await self.events.record(
                found, "Normal", "Preempted", told, action="Preempting", related=pod
            )

    def _budgets_of(self, pod: Object) -> list[tuple[str, int]]:
        """Return the disruption budgets that select a pod: uid and allowed disruptions."""
        labels = pod["metadata"].get("labels") or {}
        return [
            (budget["metadata"]["uid"], (budget.get("status") or {}).get("disruptionsAllowed") or 0)
            for budget in self._budgets.items(pod["metadata"]["namespace"])
            if selectors.selects((budget.get("spec") or {}).get("selector") or {}, labels)
        ]


def _with_condition(
    status: Object, kind: str, value: str, reason: str, message: str,
    *, now: str, generation: int | None,
) -> list[Object]:  # fmt: skip
    """Return the conditions of a pod with this one, and with the pod's generation
    (UpdatePodCondition)."""
    made: Object = {
        "type": kind,
        "status": value,
        "reason": reason,
        "message": message,
        "lastTransitionTime": now,
    }
    if generation:
        made["observedGeneration"] = generation
    conditions = [dict(each) for each in status.get("conditions") or ()]
    for index, present in enumerate(conditions):
        if present["type"] == kind:
            if present["status"] == value:
                made["lastTransitionTime"] = present.get("lastTransitionTime", now)
            conditions[index] = {"lastProbeTime": present.get("lastProbeTime"), **made}
            return conditions
    return [*conditions, made]


def _is_placed_anew(old: Object, new: Object) -> bool:
    """Return whether the scheduler must record a placed pod again: node, labels, requests or
    phase."""
    before, after = old["metadata"], new["metadata"]
    return (
        old["spec"].get("nodeName") != new["spec"].get("nodeName")
        or before.get("labels") != after.get("labels")
        # a deletion is a new generation, too
        or (before.get("generation") != after.get("generation") and old["spec"] != new["spec"])
        or pods.is_terminal(old)
    )


def _matters(old: Object, new: Object) -> bool:
    """Return whether a change of a waiting pod can let it be placed. A change of
    its status cannot, apart from the names of generated claims."""
    parts = ("labels", "annotations", "deletionTimestamp")
    return (
        old["spec"] != new["spec"]
        or any(old["metadata"].get(part) != new["metadata"].get(part) for part in parts)
        or _generated_claims(old) != _generated_claims(new)
    )


def _generated_claims(pod: Object) -> object:
    return (pod.get("status") or {}).get("resourceClaimStatuses")


def _node_parts(node: Object) -> tuple[object, ...]:
    return (
        node["spec"].get("taints"),
        node["spec"].get("unschedulable"),
        node["metadata"].get("labels"),
        (node.get("status") or {}).get("allocatable"),
    )


def _has_claims(pod: Object) -> bool:
    return any(
        "persistentVolumeClaim" in volume or "ephemeral" in volume
        for volume in pod["spec"].get("volumes") or ()
    )


def add(cluster: Cluster) -> None:
    """Run the controller that assigns pods to nodes."""
    scheduler = Scheduler(cluster)
    watches = [Watch(NODES, scheduler.of_node), Watch(PODS, scheduler.of_pod)]
    watches += [Watch(each, scheduler.of_volume) for each in VOLUME_KINDS]
    watches += [Watch(each, lambda change: ()) for each in (BUDGETS, NAMESPACES)]
    if scheduler.devices is not None:
        watches.append(Watch(CLAIMS, scheduler.of_claim))
        watches += [Watch(each, scheduler.of_devices) for each in (CLASSES, SLICES)]
    cluster.manager.add(Controller(NAME, scheduler.reconcile, tuple(watches), concurrency=16))
    cluster.manager.add(scheduler.events.controller(f"{NAME}-events"))
