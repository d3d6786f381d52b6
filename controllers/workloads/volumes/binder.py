"""Binds claims to volumes and writes the phases of both.

The order of writes is upstream's: the volume's claimRef, its phase, the claim's volumeName, its
status. The binder does not create volumes: a claim whose class has a provisioner waits for it.
Follows pkg/controller/volume/persistentvolume/pv_controller.go.
"""

from collections.abc import Iterable, Iterator

from inkube.client import Object
from inkube.controllers.workloads import pods, templates, writes
from inkube.controllers.workloads.cluster import Cluster
from inkube.controllers.workloads.volumes import CLAIMS, CLASSES, VOLUMES, matches
from inkube.controllers.workloads.volumes.matches import (
    BIND_COMPLETED,
    BOUND_BY_US,
    SELECTED_NODE,
    annotations,
)
from inkube.formats import format_time
from inkube.kinds import Change, Controller, Key, Result, Watch

NAME = "persistentvolume-binder-controller"
_COMPONENT = "persistentvolume-controller"
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_PROVISIONERS = (
    "volume.kubernetes.io/storage-provisioner",
    "volume.beta.kubernetes.io/storage-provisioner",
)
_NO_PROVISIONER = "kubernetes.io/no-provisioner"
_VOLUME = "persistentvolumes"
"""`Key.resource` of volumes; that of claims is empty."""
_NO_CLASS = "no persistent volumes available for this claim and no storage class is set"
_FIRST_CONSUMER = "waiting for first consumer to be created before binding"


def default_class(classes: Iterable[Object]) -> Object | None:
    """Return the newest default class, of several equally new ones the first by name, or None
    without a default class."""
    defaults = [each for each in classes if annotations(each).get(DEFAULT_CLASS) == "true"]
    defaults.sort(key=lambda each: str(each["metadata"]["name"]))
    return max(defaults, key=lambda each: str(each["metadata"]["creationTimestamp"]), default=None)


class Binder:
    """Reconciles one claim or one volume at a time."""

    def __init__(self, cluster: Cluster) -> None:
        self._clock = cluster.clock
        self._client = cluster.client()
        self._events = cluster.recorder(_COMPONENT)
        self._claims = cluster.informer(CLAIMS)
        self._volumes = cluster.informer(VOLUMES)
        self._classes = cluster.informer(CLASSES)

    # --- keys of changes

    def of_claim(self, change: Change) -> Iterator[Key]:
        """Yield the claim, and the volumes with a claimRef to it."""
        yield Key.of(change.object)
        for volume in self._volumes.items():
            if matches.is_for(volume, change.object):
                yield Key("", volume["metadata"]["name"], _VOLUME)

    def of_volume(self, change: Change) -> Iterator[Key]:
        """Yield the volume, its claim, and all unbound claims."""
        yield Key("", change.object["metadata"]["name"], _VOLUME)
        for claim in self._claims.items():
            if (
                not matches.is_bound(claim)
                or claim["spec"].get("volumeName") == (change.object["metadata"]["name"])
            ):
                yield Key.of(claim)

    def of_class(self, change: Change) -> Iterator[Key]:
        """Yield all unbound claims."""
        for claim in self._claims.items():
            if not matches.is_bound(claim):
                yield Key.of(claim)

    async def reconcile(self, key: Key) -> Result | None:
        """Reconcile a volume or a claim."""
        if key.resource == _VOLUME:
            volume = self._volumes.get(Key("", key.name))
            if volume is not None:
                await self._sync_volume(volume)
            return None
        claim = self._claims.get(key)
        if claim is not None:
            await self._sync_claim(claim)
        return None

    # --- claims

    async def _sync_claim(self, claim: Object) -> None:
        if matches.is_bound(claim):
            await self._check_bound(claim)
        elif not pods.is_deleting(claim):
            await self._find_volume(claim)

    async def _find_volume(self, claim: Object) -> None:
        """Bind the claim to a matching volume, or set its phase to Pending (syncUnboundClaim)."""
        wanted = claim["spec"].get("volumeName")
        if wanted:
            volume = self._volumes.get(Key("", wanted))
            if volume is None or (
                volume["spec"].get("claimRef") and not matches.is_for(volume, claim)
            ):
                await self._write_claim_phase(claim, "Pending", None)
                return
            await self._bind(volume, claim)
            return
        if not matches.has_class(claim):
            default = default_class(self._classes.items())
            if default is not None:
                changed = templates.copy(claim)
                changed["spec"]["storageClassName"] = default["metadata"]["name"]
                await writes.update(self._client, changed)
                return
        found = self._classes.get(Key("", matches.class_of(claim)))
        waits = found is not None and found.get("volumeBindingMode") == "WaitForFirstConsumer"
        meant = next((each for each in self._volumes.items() if matches.is_for(each, claim)), None)
        if waits and meant is None and SELECTED_NODE not in annotations(claim):
            await self._events.normal(claim, "WaitForFirstConsumer", _FIRST_CONSUMER)
            await self._write_claim_phase(claim, "Pending", None)
            return
        volume = matches.best_volume(claim, self._volumes.items())
        if volume is not None:
            await self._bind(volume, claim)
            return
        await self._write_claim_phase(claim, "Pending", None)
        await self._record_pending(claim, found)

    async def _record_pending(self, claim: Object, volume: Object | None) -> None:
        name = matches.class_of(claim)
        if not name:
            await self._events.normal(claim, "FailedBinding", _NO_CLASS)
            return
        if volume is None:
            text = f'storageclass.storage.k8s.io "{name}" not found'
            await self._events.warning(claim, "ProvisioningFailed", text)
            return
        provisioner = volume["provisioner"]
        if provisioner == _NO_PROVISIONER:
            text = "no volume plugin matched name: kubernetes.io/no-provisioner"
            await self._events.warning(claim, "ProvisioningFailed", text)
            return
        own = dict.fromkeys(_PROVISIONERS, provisioner)
        if not own.items() <= annotations(claim).items():
            changed = templates.copy(claim)
            changed["metadata"]["annotations"] = {**annotations(claim), **own}
            await writes.update(self._client, changed)
        text = (
            f"Waiting for a volume to be created either by the external provisioner "
            f"'{provisioner}' or manually by the system administrator. If volume creation is "
            "delayed, please verify that the provisioner is running and correctly registered."
        )
        await self._events.normal(claim, "ExternalProvisioning", text)

    async def _bind(self, volume: Object, claim: Object) -> None:
        """Write the volume and the claim of a new binding, in upstream's order (bind)."""
        reference = volume["spec"].get("claimRef") or {}
        if reference.get("uid") != claim["metadata"]["uid"]:
            changed = templates.copy(volume)
            matches.reserve(changed, claim)
            written = await writes.update(self._client, changed)
            if written is None:
                return
            volume = written
        written = await self._write_volume_phase(volume, "Bound")
        if written is None:
            return
        changed = templates.copy(claim)
        own = {**annotations(claim), BIND_COMPLETED: "yes"}
        if not claim["spec"].get("volumeName"):
            own[BOUND_BY_US] = "yes"
        changed["metadata"]["annotations"] = own
        changed["spec"]["volumeName"] = volume["metadata"]["name"]
        bound = await writes.update(self._client, changed)
        if bound is not None:
            await self._write_claim_phase(bound, "Bound", volume)
        await self._volumes.caught_up()
        await self._claims.caught_up()

    async def _check_bound(self, claim: Object) -> None:
        """Check a bound claim: it becomes Lost if its volume is missing or has another claim
        (syncBoundClaim)."""
        volume = self._volumes.get(Key("", claim["spec"]["volumeName"]))
        if volume is None:
            if await self._write_claim_phase(claim, "Lost", None):
                text = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
                await self._events.warning(claim, "ClaimLost", text)
            return
        reference = volume["spec"].get("claimRef")
        if reference is None or matches.is_for(volume, claim):
            if reference is None or not reference.get("uid"):
                await self._bind(volume, claim)
            else:
                await self._write_volume_phase(volume, "Bound")
                await self._write_claim_phase(claim, "Bound", volume)
        elif await self._write_claim_phase(claim, "Lost", None):
            text = "Two claims are bound to the same volume, this one is bound incorrectly"
            await self._events.warning(claim, "ClaimMisbound", text)

    async def _write_claim_phase(self, claim: Object, phase: str, volume: Object | None) -> bool:
        """Write the phase of a claim and the values of its volume. Returns whether the status
        changed (updateClaimStatus)."""
        status: Object = dict(claim.get("status") or {})
        status["phase"] = phase
        if volume is None:
            for member in ("accessModes", "capacity"):
                status.pop(member, None)
        else:
            status["accessModes"] = volume["spec"].get("accessModes")
            size = (volume["spec"].get("capacity") or {}).get("storage")
            if "capacity" not in status or (claim.get("status") or {}).get("phase") != "Bound":
                status["capacity"] = {"storage": size}
            attributes = volume["spec"].get("volumeAttributesClassName")
            if attributes and (claim.get("status") or {}).get("phase") == "Pending":
                status["currentVolumeAttributesClassName"] = attributes
        if (claim.get("status") or {}) == status:
            return False
        return await writes.write_status(self._client, claim, status) is not None

    # --- volumes

    async def _sync_volume(self, volume: Object) -> None:
        """Write the phase of a volume by the state of its claim (syncVolume)."""
        reference = volume["spec"].get("claimRef")
        if not reference or not reference.get("uid"):
            await self._write_volume_phase(volume, "Available")
            return
        claim = self._claims.get(Key(reference.get("namespace", ""), reference["name"]))
        if claim is None or claim["metadata"]["uid"] != reference["uid"]:
            await self._release(volume)
            return
        wanted = claim["spec"].get("volumeName")
        if wanted == volume["metadata"]["name"]:
            if matches.is_bound(claim):
                await self._write_volume_phase(volume, "Bound")
            return
        if wanted and annotations(volume).get(BOUND_BY_US):
            changed = templates.copy(volume)
            changed["spec"].pop("claimRef")
            changed["metadata"]["annotations"].pop(BOUND_BY_US)
            await writes.update(self._client, changed)

    async def _release(self, volume: Object) -> None:
        """Release a volume whose claim was deleted, and delete it if its reclaim policy is Delete.

        Volumes are not recycled.
        """
        phase = (volume.get("status") or {}).get("phase")
        if phase not in ("Released", "Failed"):
            await self._write_volume_phase(volume, "Released")
        is_deleted = volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete"
        if is_deleted and not pods.is_deleting(volume):
            await writes.delete(self._client, VOLUMES, volume)

    async def _write_volume_phase(self, volume: Object, phase: str) -> Object | None:
        status: Object = dict(volume.get("status") or {})
        if status.get("phase") == phase:
            return volume
        now = format_time(self._clock.now())
        status |= {"phase": phase, "lastPhaseTransitionTime": now}
        return await writes.write_status(self._client, volume, status)


def add(cluster: Cluster) -> None:
    """Run the controller that binds claims to volumes."""
    binder = Binder(cluster)
    cluster.manager.add(
        Controller(
            NAME,
            writes.patient(binder.reconcile),
            (
                Watch(CLAIMS, binder.of_claim),
                Watch(VOLUMES, binder.of_volume),
                Watch(CLASSES, binder.of_class),
            ),
            concurrency=1,
        )
    )
