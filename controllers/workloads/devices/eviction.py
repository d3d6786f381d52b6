"""Deletes pods whose devices have NoExecute taints that their claims do not tolerate.

Follows pkg/controller/devicetainteviction, without DeviceTaintRules, whose gate is off by default.
"""

from collections.abc import Iterator
from datetime import timedelta

from inkube.client import Object
from inkube.controllers.workloads import matching, pods, writes
from inkube.controllers.workloads.cluster import PODS, Cluster
from inkube.controllers.workloads.devices import CLAIMS, SINCE, SLICES, podclaims
from inkube.controllers.workloads.devices.pools import DeviceName
from inkube.formats import format_time
from inkube.kinds import Change, Controller, Key, Result, Watch

NAME = "device-taint-eviction-controller"
_MESSAGE = "Device Taint manager: deleting due to NoExecute taint"
_EVENT = "DeviceTaintManagerEviction"


class DeviceEviction:
    """Deletes one pod at a time, when its claims no longer tolerate the taints of its devices."""

    def __init__(self, cluster: Cluster) -> None:
        self._clock = cluster.clock
        self._client = cluster.client()
        self._events = cluster.recorder(NAME)
        self._pods = cluster.informer(PODS)
        self._claims = cluster.informer(CLAIMS)
        self._slices = cluster.informer(SLICES)
        self._slices_by_device = self._slices.index(_devices_of)
        self._claims_by_device = self._claims.index(_devices_of_claim)
        self._waiting: set[str] = set()
        """uids of pods that will be deleted later."""

    def of_pod(self, change: Change) -> Iterator[Key]:
        """Yield a pod with claims that was placed."""
        if change.new is None:
            self._waiting.discard(change.object["metadata"]["uid"])
        elif change.new["spec"].get("resourceClaims") and change.new["spec"].get("nodeName"):
            yield Key.of(change.new)

    def of_claim(self, change: Change) -> Iterator[Key]:
        """Yield the pods for which a claim is or was reserved."""
        yield from podclaims.users_of(change)

    def of_slice(self, change: Change) -> Iterator[Key]:
        """Yield the pods with devices whose taints changed."""
        before, after = _tainted(change.old), _tainted(change.new)
        for name in before.keys() | after.keys():
            if before.get(name) != after.get(name):
                for key in self._claims_by_device.keys("/".join(name)):
                    claim = self._claims.get(key)
                    if claim is not None:
                        yield from podclaims.users_of(Change(None, claim))

    async def reconcile(self, key: Key) -> Result | None:
        """Delete one pod, now or when its time is over, or cancel its deletion."""
        pod = self._pods.get(key)
        if pod is None or pods.is_deleting(pod):
            return None
        uid, left = pod["metadata"]["uid"], self._left(pod)
        if left is None:
            if uid in self._waiting:
                self._waiting.discard(uid)
                await self._events.normal(pod, _EVENT, "Cancelling deletion")
            return None
        if left > 0:
            self._waiting.add(uid)
            return Result(requeue_after=left)
        await self._events.normal(pod, _EVENT, "Marking for deletion")
        now = format_time(self._clock.now())
        status = pods.disrupted(pod, "DeletionByDeviceTaintManager", _MESSAGE, now)
        await writes.write_status(self._client, pod, status)
        await writes.delete(self._client, PODS, pod)
        self._waiting.discard(uid)
        return None

    def _left(self, pod: Object) -> float | None:
        """Return seconds until the deletion of a pod, None for none (podEvictionTime)."""
        if not pod["spec"].get("nodeName"):
            return None
        waits: list[float] = []
        for each in podclaims.named(pod):
            claim = self._claims.get(Key(pod["metadata"]["namespace"], each.name or ""))
            if claim is not None and podclaims.is_reserved(claim, pod):
                for result in podclaims.results(podclaims.allocation(claim)):
                    waits += self._waits(result)
        return min(waits, default=None)

    def _waits(self, result: Object) -> Iterator[float]:
        """Yield seconds until each taint of a device ends the use of it (claimEvictionTime)."""
        now = self._clock.now()
        for taint in self._taints((result["driver"], result["pool"], result["device"])):
            fitting = [
                each
                for each in result.get("tolerations") or ()
                if each.get("effect") == "NoExecute" and matching.is_tolerated(each, taint)
            ]
            if any(each.get("tolerationSeconds") is None for each in fitting):
                continue
            seconds = min((max(each["tolerationSeconds"], 0) for each in fitting), default=0)
            end = pods.moment(taint.get("timeAdded")) + timedelta(seconds=seconds)
            yield (end - now).total_seconds()

    def _taints(self, name: DeviceName) -> list[Object]:
        """Return the NoExecute taints of a device in the newest generation of its pool."""
        keys = self._slices_by_device.keys("/".join(name))
        slices = [found for key in keys if (found := self._slices.get(key)) is not None]
        newest = max(slices, key=_generation, default=None)
        return _tainted(newest).get(name, [])


def _generation(slice_: Object) -> int:
    return int(slice_["spec"]["pool"].get("generation") or 0)


def _tainted(slice_: Object | None) -> dict[DeviceName, list[Object]]:
    """Return the NoExecute taints of the devices of a slice."""
    spec = (slice_ or {}).get("spec") or {}
    return {
        (spec["driver"], spec["pool"]["name"], device["name"]): evicting
        for device in spec.get("devices") or ()
        if (evicting := [one for one in device.get("taints") or () if one["effect"] == "NoExecute"])
    }


def _devices_of(slice_: Object) -> Iterator[str]:
    spec = slice_["spec"]
    for device in spec.get("devices") or ():
        yield f"{spec['driver']}/{spec['pool']['name']}/{device['name']}"


def _devices_of_claim(claim: Object) -> Iterator[str]:
    for each in podclaims.results(podclaims.allocation(claim)):
        yield f"{each['driver']}/{each['pool']}/{each['device']}"


def add(cluster: Cluster) -> None:
    """Run the controller, in servers that know claims."""
    if cluster.server.find_kind(*SINCE) is None:
        return
    eviction = DeviceEviction(cluster)
    watches = (
        Watch(PODS, eviction.of_pod),
        Watch(CLAIMS, eviction.of_claim),
        Watch(SLICES, eviction.of_slice),
    )
    cluster.manager.add(Controller(NAME, eviction.reconcile, watches))
