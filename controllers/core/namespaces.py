"""The deletion of namespaces: remove their objects, report the remaining ones, remove the
namespace.

Pods are removed first, and the other objects after the last pod. Each removal in such a namespace
triggers the controller again. Follows pkg/controller/namespace/deletion
(namespaced_resources_deleter.go, status_condition_utils.go).
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime

from inkube.controllers.client import Client, Object, Selection, get_or_none
from inkube.controllers.core.catalog import Catalog, Kind, Step
from inkube.controllers.informer import Change, Key
from inkube.controllers.manager import Controller, Manager, Result, Watch
from inkube.schemas.clock import Clock
from inkube.schemas.meta import GVR, format_time
from inkube.schemas.status import StatusError

NAME = "namespaces"
RESOURCE = GVR("", "v1", "namespaces")
FINALIZER = "kubernetes"
RECHECK = 5.0
"""Seconds until the next attempt after a refused deletion in a namespace."""

_NO_FAILURES = {
    "NamespaceDeletionDiscoveryFailure": (
        "ResourcesDiscovered",
        "All resources successfully discovered",
    ),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": (
        "ContentHasNoFinalizers",
        "All content-preserving finalizers finished",
    ),
}
"""Every condition, with reason and message of its status False."""


@dataclass(slots=True)
class RemainingObjects:
    """The remaining objects of a namespace, by resource and by finalizer, and errors of
    deletions."""

    resources: Counter[str] = field(default_factory=Counter)
    finalizers: Counter[str] = field(default_factory=Counter)
    refusals: list[str] = field(default_factory=list)
    grace: float = 0.0
    """Remaining seconds of the pods' grace periods. Pods within them are not counted."""

    def conditions(self) -> dict[str, tuple[str, str, str]]:
        """Return status, reason and message of every condition."""
        found = {name: ("False", *calm) for name, calm in _NO_FAILURES.items()}
        if self.refusals:
            text = ", ".join(self.refusals)
            message = f"Failed to delete all resource types, {len(self.refusals)} remaining: {text}"
            found["NamespaceDeletionContentFailure"] = ("True", "ContentDeletionFailed", message)
        if self.resources:
            text = _counts_text(self.resources, "{} has {} resource instances")
            message = f"Some resources are remaining: {text}"
            found["NamespaceContentRemaining"] = ("True", "SomeResourcesRemain", message)
        if self.finalizers:
            text = _counts_text(self.finalizers, "{} in {} resource instances")
            message = f"Some content in the namespace has finalizers remaining: {text}"
            found["NamespaceFinalizersRemaining"] = ("True", "SomeFinalizersRemain", message)
        return found


class Drain:
    """Empties namespaces."""

    def __init__(self, client: Client, catalog: Catalog, clock: Clock) -> None:
        self._client = client
        self._catalog = catalog
        self._clock = clock
        self._namespaces: set[str] = set()

    def feed(self, add: Callable[[Key], None]) -> Callable[[], None]:
        """Add a namespace in deletion to the queue after a change in it."""

        def follow(step: Step) -> None:
            namespace = step.item.key.namespace
            if namespace in self._namespaces:
                add(Key("", namespace))

        def anew() -> None:
            for namespace in self._namespaces:
                add(Key("", namespace))

        return self._catalog.follow(follow, anew)

    async def reconcile(self, key: Key) -> Result | None:
        """Take one step for the deletion of one namespace."""
        namespace = await get_or_none(self._client, RESOURCE, key.name)
        if namespace is None or "deletionTimestamp" not in namespace["metadata"]:
            self._namespaces.discard(key.name)
            return None
        if FINALIZER not in (namespace["spec"].get("finalizers") or ()):
            self._namespaces.discard(key.name)
            return None
        self._namespaces.add(key.name)
        remains = await self._empty(key.name, namespace["metadata"]["deletionTimestamp"])
        namespace = await self._report(namespace, remains)
        if remains.grace:
            return Result(requeue_after=remains.grace)
        if remains.resources:
            return Result(requeue_after=RECHECK) if remains.refusals else None
        await self._finalize(namespace)
        self._namespaces.discard(key.name)
        return None

    async def _empty(self, name: str, since: str) -> RemainingObjects:
        """Delete all objects. `since` is the deletionTimestamp of the namespace."""
        remains = RemainingObjects()
        elapsed = (self._clock.now() - datetime.fromisoformat(since)).total_seconds()
        # the list waits for the writes of other processes: the catalog knows them afterwards
        await self._delete_all(_PODS, name, remains, elapsed)
        if remains.resources or remains.grace:
            return remains
        for kind in self._catalog.kinds_in(name):
            if _is_content(kind):
                await self._delete_all(kind.resource, name, remains, elapsed)
        return remains

    async def _delete_all(
        self, resource: GVR, namespace: str, remains: RemainingObjects, elapsed: float
    ) -> None:
        """Delete the objects of one kind, then count the remaining objects."""
        selection = Selection(namespace=namespace)
        found = (await self._client.list(resource, selection)).items
        living = [obj for obj in found if "deletionTimestamp" not in obj["metadata"]]
        for start in range(0, len(living), _MAX_CONCURRENT_DELETIONS):
            batch = living[start : start + _MAX_CONCURRENT_DELETIONS]
            await asyncio.gather(*(self._delete(resource, obj, remains) for obj in batch))
        if not found:
            return
        left = (await self._client.list(resource, selection)).items
        if resource == _PODS:
            remains.grace = max(_grace(left) - elapsed, 0.0)
            if remains.grace:
                return
        if left:
            remains.resources[f"{resource.resource}.{resource.group}"] = len(left)
        for obj in left:
            remains.finalizers.update(obj["metadata"].get("finalizers") or ())

    async def _delete(self, resource: GVR, obj: Object, remains: RemainingObjects) -> None:
        meta = obj["metadata"]
        options = {"propagationPolicy": "Background"}
        try:
            await self._client.delete(resource, meta["name"], meta["namespace"], options=options)
        except StatusError as error:
            if error.code != 404:
                remains.refusals.append(error.message)

    async def _report(self, namespace: Object, remains: RemainingObjects) -> Object:
        """Write the conditions if they changed."""
        status = namespace["status"]
        conditions = [dict(condition) for condition in status.get("conditions") or ()]
        known = {condition["type"]: condition for condition in conditions}
        now, changed = format_time(self._clock.now()), False
        for name, (value, reason, message) in remains.conditions().items():
            wanted = {"type": name, "status": value, "reason": reason, "message": message}
            before = known.get(name)
            if before is not None and {**before, **wanted} == before:
                continue
            changed = True
            if before is None:
                conditions.append({**wanted, "lastTransitionTime": now})
            else:
                moved = before["status"] != value
                before.update(wanted, **({"lastTransitionTime": now} if moved else {}))
        if not changed:
            return namespace
        body = {**namespace, "status": {**status, "conditions": conditions}}
        return await self._client.update(body, subresource="status")

    async def _finalize(self, namespace: Object) -> None:
        finalizers = [name for name in namespace["spec"]["finalizers"] if name != FINALIZER]
        body = {**namespace, "spec": {**namespace["spec"], "finalizers": finalizers}}
        await self._client.update(body, subresource="finalize")


_MAX_CONCURRENT_DELETIONS = 100  # deletions that may share a commit
_PODS = GVR("", "v1", "pods")
_NEW_EVENTS = GVR("events.k8s.io", "v1", "events")


def _grace(pods: list[Object]) -> float:
    """Return the longest grace period of running pods, in seconds
    (estimateGracefulTerminationForPods)."""
    running = (
        pod
        for pod in pods
        if (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")
        and pod["spec"].get("nodeName")
    )
    periods = (pod["spec"].get("terminationGracePeriodSeconds") or 0 for pod in running)
    return float(max(periods, default=0))


def _is_content(kind: Kind) -> bool:
    """Return whether objects of a kind are still to be deleted: pods are gone by then, and events
    are counted under their other name."""
    return "delete" in kind.verbs and kind.resource not in (_PODS, _NEW_EVENTS)


def _counts_text(counts: Counter[str], form: str) -> str:
    return ", ".join(sorted(form.format(name, count) for name, count in counts.items()))


def _keys_of_terminating(change: Change) -> Iterable[Key]:
    if change.new is not None and "deletionTimestamp" in change.new["metadata"]:
        yield Key.of(change.new)


def add(manager: Manager, catalog: Catalog, client: Client) -> None:
    """Add the controller to the manager."""
    drain = Drain(client, catalog, manager.clock)
    watch = Watch(RESOURCE, keys=_keys_of_terminating)
    manager.add(Controller(NAME, drain.reconcile, (watch,), sources=(drain.feed,)))
