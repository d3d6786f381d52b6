"""StatefulSets: pods with stable names, an order and their own claims.

Follows pkg/controller/statefulset (stateful_set_control.go, stateful_set_utils.go,
stateful_pod_control.go). Upstream takes all steps in one pass; here, a reconcile takes one step and
reads its result. The status is computed from the pods after the step.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from inkube.client import Object
from inkube.controllers.workloads import pods, templates, writes
from inkube.controllers.workloads.claims import Claims, adopters, named_owners, own_selector
from inkube.controllers.workloads.cluster import PODS, Cluster
from inkube.controllers.workloads.revisions import HASH, OWN_HASH, Revisions
from inkube.controllers.workloads.rollouts import scaled_value
from inkube.controllers.workloads.volumes import CLAIMS
from inkube.formats import controller_reference
from inkube.kinds import Change, Controller, Key, Reason, Result, StatusError, Watch

NAME = "statefulset-controller"
SETS = "apps/v1/statefulsets"
_POD_NAME = "statefulset.kubernetes.io/pod-name"
_POD_INDEX = "apps.kubernetes.io/pod-index"
_ORDINAL = re.compile(r"(.*)-([0-9]+)")


def ordinal(pod: Object) -> int:
    """Return the number at the end of the pod's name, or -1 without a number."""
    found = _ORDINAL.fullmatch(pod["metadata"]["name"])
    return int(found[2]) if found else -1


def _is_member(owner: Object, pod: Object) -> bool:
    found = _ORDINAL.fullmatch(pod["metadata"]["name"])
    return found is not None and found[1] == owner["metadata"]["name"]


class Pair(NamedTuple):
    """The names of two revisions: the current one of the pods, and the one of the update."""

    current: str
    update: str


class StatefulSetController:
    """Creates and deletes the pods and claims of one StatefulSet at a time, in order."""

    def __init__(self, cluster: Cluster) -> None:
        self._clock = cluster.clock
        self._client = cluster.client()
        self._events = cluster.recorder(NAME)
        self._sets = cluster.informer(SETS)
        self._pods = cluster.informer(PODS)
        self._volume_claims = cluster.informer(CLAIMS)
        self._claimable = cluster.claimable(PODS)
        self._claims = Claims(self._client, PODS, SETS)
        self._revisions = Revisions(cluster, self._client, SETS, label=OWN_HASH)

    def of_pod(self, change: Change) -> Iterator[Key]:
        """Yield the set of a pod, or the sets that can adopt it."""
        yield from named_owners(change, "StatefulSet")
        for owner in adopters(change, self._sets, own_selector):
            if _is_member(owner, change.object):
                yield Key.of(owner)

    async def reconcile(self, key: Key) -> Result | None:
        """Take one step for a set, and write its status."""
        cached = self._sets.get(key)
        if cached is None:
            return None
        owner = templates.copy(cached)
        known = await self._revisions.of(owner)
        status: Object = owner.get("status") or {}
        annotations = owner["metadata"].get("annotations")
        update, collisions = await self._revisions.current(
            owner, known, status.get("collisionCount") or 0, annotations
        )
        names = {each["metadata"]["name"]: each for each in known}
        current = names.get(status.get("currentRevision") or "", update)
        pair = Pair(current["metadata"]["name"], update["metadata"]["name"])
        found = await self._claim_pods(owner)
        wait: float | None = None
        if not pods.is_deleting(owner):
            await self._keep_claims(owner, found)
            acted = await self._step(owner, found, pair, current)
            if acted:
                await self._pods.caught_up()
                found = await self._claim_pods(owner)
        tally = pods.Tally(
            (pod for pod in found if pods.phase(pod) == "Running"),
            owner["spec"].get("minReadySeconds") or 0,
            self._clock.now(),
        )
        wait = tally.next_available
        await self._report(owner, found, pair, collisions, tally)
        live = {pair.current, pair.update}
        live |= {(pod["metadata"].get("labels") or {}).get(HASH, "") for pod in found}
        limit = owner["spec"].get("revisionHistoryLimit", 10)
        await self._revisions.trim(await self._revisions.of(owner), live, limit)
        return Result(requeue_after=wait) if wait else None

    async def _claim_pods(self, owner: Object) -> list[Object]:
        candidates = [pod for pod in self._claimable(owner) if _is_member(owner, pod)]
        return await self._claims.claim(owner, owner["spec"]["selector"], candidates)

    # --- one step

    async def _step(
        self, owner: Object, owned_pods: list[Object], pair: Pair, current: Object
    ) -> bool:
        """Take the steps of updateStatefulSet until the first action or wait. Returns whether it
        acted."""
        spec = owner["spec"]
        first = (spec.get("ordinals") or {}).get("start", 0)
        numbers = range(first, first + spec["replicas"])
        there = {ordinal(pod): pod for pod in owned_pods}
        in_order = spec.get("podManagementPolicy") != "Parallel"
        acted = False
        for number in numbers:
            pod = there.get(number)
            if pod is None:
                await self._create(owner, number, pair, current)
                acted = True
            elif pods.is_terminal(pod):
                if not pods.is_deleting(pod):
                    await self._delete(owner, pod)
                    acted = True
                elif in_order:
                    return acted
            elif not in_order:
                acted |= await self._repair(owner, pod)
                continue
            elif pods.is_deleting(pod) or not self._is_available(owner, pod):
                await self._repair(owner, pod)
                return acted
            else:
                acted |= await self._repair(owner, pod)
                continue
            if in_order and acted:
                return True
        if acted:
            return True
        condemned = sorted(
            (pod for pod in owned_pods if ordinal(pod) not in numbers), key=ordinal, reverse=True
        )
        if condemned:
            return await self._condemn(owner, owned_pods, condemned, in_order=in_order)
        if spec["updateStrategy"]["type"] == "OnDelete":
            return False
        return await self._update(owner, [there[number] for number in numbers], pair, first)

    async def _condemn(
        self, owner: Object, owned_pods: list[Object], condemned: list[Object], *, in_order: bool
    ) -> bool:
        """Delete pods beyond the replicas, the last first. In order, each deletion waits until the
        pods with lower numbers are healthy. Returns whether it acted."""
        by_number = sorted(owned_pods, key=ordinal)
        unhealthy = next((pod for pod in by_number if not self._is_healthy(pod)), None)
        acted = False
        for pod in condemned:
            if pods.is_deleting(pod):
                if in_order:
                    return acted
                continue
            if in_order and not self._is_healthy(pod) and pod is not unhealthy:
                return acted
            await self._delete(owner, pod)
            acted = True
            if in_order:
                return True
        return acted

    async def _update(self, owner: Object, replicas: list[Object], pair: Pair, first: int) -> bool:
        """Delete pods of another revision for the strategy RollingUpdate, the last first, within
        maxUnavailable. Returns whether it acted."""
        rolling = owner["spec"]["updateStrategy"].get("rollingUpdate") or {}
        partition = rolling.get("partition") or 0
        most = scaled_value(rolling.get("maxUnavailable") or 1, owner["spec"]["replicas"], up=True)
        away = sum(pods.is_deleting(pod) or not self._is_available(owner, pod) for pod in replicas)
        acted = False
        for pod in reversed(replicas):
            if ordinal(pod) < first + partition:
                break
            is_old = (pod["metadata"].get("labels") or {}).get(HASH) != pair.update
            is_away = pods.is_deleting(pod) or not self._is_available(owner, pod)
            if is_old and not pods.is_deleting(pod):
                if not is_away and away >= max(most, 1):
                    break
                await self._delete(owner, pod)
                away += not is_away
                acted = True
                if most <= 1:
                    return True
            elif is_away and away >= max(most, 1):
                break
        return acted

    def _is_healthy(self, pod: Object) -> bool:
        is_ready = pods.phase(pod) == "Running" and pods.is_ready(pod)
        return is_ready and not pods.is_deleting(pod)

    def _is_available(self, owner: Object, pod: Object) -> bool:
        least = owner["spec"].get("minReadySeconds") or 0
        wait = pods.available_in(pod, least, self._clock.now())
        return pods.phase(pod) == "Running" and wait == 0

    # --- pods

    async def _create(self, owner: Object, number: int, pair: Pair, current: Object) -> None:
        body = self._pod(owner, number, pair, current)
        name, own = body["metadata"]["name"], owner["metadata"]["name"]
        try:
            await self._make_claims(owner, body)
            await self._client.create(body)
        except StatusError as error:
            if error.reason == Reason.ALREADY_EXISTS:
                return
            message = f"Create Pod {name} in StatefulSet {own} failed error: {error.message}"
            await self._events.warning(owner, "FailedCreate", message)
            raise
        message = f"Create Pod {name} in StatefulSet {own} successful"
        await self._events.normal(owner, "SuccessfulCreate", message)

    async def _delete(self, owner: Object, pod: Object) -> None:
        if await writes.delete(self._client, PODS, pod):
            name, own = pod["metadata"]["name"], owner["metadata"]["name"]
            message = f"Delete Pod {name} in StatefulSet {own} successful"
            await self._events.normal(owner, "SuccessfulDelete", message)

    def _pod(self, owner: Object, number: int, pair: Pair, current: Object) -> Object:
        """Return a new pod with the template of its revision (newVersionedStatefulSetPod)."""
        spec = owner["spec"]
        first = (spec.get("ordinals") or {}).get("start", 0)
        rolling = spec["updateStrategy"].get("rollingUpdate") or {}
        template, revision = spec["template"], pair.update
        is_rolling = spec["updateStrategy"]["type"] == "RollingUpdate"
        if is_rolling and number < first + (rolling.get("partition") or 0):
            template, revision = current["data"]["spec"]["template"], pair.current
            template = {key: value for key, value in template.items() if key != "$patch"}
        body = templates.pod(template, owner)
        name = f"{owner['metadata']['name']}-{number}"
        meta = body["metadata"]
        meta["name"] = name
        own = {_POD_NAME: name, _POD_INDEX: str(number), HASH: revision}
        meta["labels"] = {**(meta.get("labels") or {}), **own}
        body["spec"]["hostname"] = name
        if spec.get("serviceName"):
            body["spec"]["subdomain"] = spec["serviceName"]
        claims = [
            {"name": volume, "persistentVolumeClaim": {"claimName": claim["metadata"]["name"]}}
            for volume, claim in self._claims_for(owner, name)
        ]
        if claims:
            replaced = {each["name"] for each in claims}
            others = [
                each for each in body["spec"].get("volumes") or () if each["name"] not in replaced
            ]
            body["spec"]["volumes"] = claims + others
        return body

    async def _repair(self, owner: Object, pod: Object) -> bool:
        """Create missing claims of a pod, and restore its labels. Returns whether labels were
        written."""
        await self._make_claims(owner, pod)
        name, labels = pod["metadata"]["name"], pod["metadata"].get("labels") or {}
        own = {_POD_NAME: name, _POD_INDEX: str(ordinal(pod))}
        if pods.is_deleting(pod) or own.items() <= labels.items():
            return False
        changed = {**pod, "metadata": {**pod["metadata"], "labels": {**labels, **own}}}
        return await writes.update(self._client, changed) is not None

    # --- claims

    def _claims_for(self, owner: Object, pod_name: str) -> Iterator[tuple[str, Object]]:
        """Yield the names of volumes and the claims of a pod, created from the claim templates."""
        for template in owner["spec"].get("volumeClaimTemplates") or ():
            made = templates.copy(template)
            made.pop("status", None)
            meta = made["metadata"]
            volume = meta["name"]
            selected = owner["spec"]["selector"].get("matchLabels") or {}
            meta["name"] = f"{volume}-{pod_name}"
            meta["namespace"] = owner["metadata"]["namespace"]
            meta["labels"] = {**(meta.get("labels") or {}), **selected}
            yield volume, made

    async def _make_claims(self, owner: Object, pod: Object) -> None:
        name, own = pod["metadata"]["name"], owner["metadata"]["name"]
        for _, claim in self._claims_for(owner, name):
            meta = claim["metadata"]
            if self._volume_claims.get(Key(meta["namespace"], meta["name"])) is not None:
                continue
            policy = owner["spec"].get("persistentVolumeClaimRetentionPolicy") or {}
            if policy.get("whenDeleted") == "Delete":
                meta["ownerReferences"] = [controller_reference(owner)]
            try:
                await self._client.create(claim)
            except StatusError as error:
                if error.reason == Reason.ALREADY_EXISTS:
                    continue
                raise
            message = f"Create Claim {meta['name']} Pod {name} in StatefulSet {own} success"
            await self._events.normal(owner, "SuccessfulCreate", message)
            await self._volume_claims.caught_up()

    async def _keep_claims(self, owner: Object, owned_pods: list[Object]) -> None:
        """Write the owners of claims according to persistentVolumeClaimRetentionPolicy."""
        spec = owner["spec"]
        first = (spec.get("ordinals") or {}).get("start", 0)
        numbers = range(first, first + spec["replicas"])
        for pod in owned_pods:
            name = pod["metadata"]["name"]
            for _, wanted in self._claims_for(owner, name):
                meta = wanted["metadata"]
                claim = self._volume_claims.get(Key(meta["namespace"], meta["name"]))
                if claim is None or pods.is_deleting(claim):
                    continue
                condemned = ordinal(pod) not in numbers
                owners = _claim_owners(owner, pod, claim, condemned=condemned)
                if owners != (claim["metadata"].get("ownerReferences") or []):
                    changed = templates.copy(claim)
                    changed["metadata"]["ownerReferences"] = owners
                    await writes.update(self._client, changed)

    # --- status

    async def _report(
        self,
        owner: Object,
        owned_pods: list[Object],
        pair: Pair,
        collisions: int,
        tally: pods.Tally,
    ) -> None:
        spec = owner["spec"]
        created = [pod for pod in owned_pods if pods.phase(pod)]

        def of_revision(name: str) -> int:
            return sum(
                (pod["metadata"].get("labels") or {}).get(HASH) == name
                and not pods.is_deleting(pod)
                for pod in created
            )

        counts = {
            "observedGeneration": owner["metadata"]["generation"],
            "readyReplicas": tally.ready,
            "currentReplicas": of_revision(pair.current),
            "updatedReplicas": of_revision(pair.update),
        }
        current = pair.current
        is_rolling = spec["updateStrategy"]["type"] == "RollingUpdate"
        all_there = counts["updatedReplicas"] == len(created) == counts["readyReplicas"]
        if is_rolling and all_there and len(created) == spec["replicas"]:
            current, counts["currentReplicas"] = pair.update, counts["updatedReplicas"]
        status: Object = {
            "replicas": len(created),
            **{member: count for member, count in counts.items() if count},
            "availableReplicas": tally.available,
            "currentRevision": current,
            "updateRevision": pair.update,
            "collisionCount": collisions,
        }
        if (owner.get("status") or {}).get("conditions"):
            status["conditions"] = owner["status"]["conditions"]
        written = await writes.write_status(self._client, owner, status)
        if written is not None and written is not owner:
            await self._sets.wait_for_write(written)


def _claim_owners(owner: Object, pod: Object, claim: Object, *, condemned: bool) -> list[Object]:
    """Return the owner references that the claim must have (updateClaimOwnerRefForSetAndPod)."""
    policy = owner["spec"].get("persistentVolumeClaimRetentionPolicy") or {}
    uids = {owner["metadata"]["uid"], pod["metadata"]["uid"]}
    owners = [
        each
        for each in claim["metadata"].get("ownerReferences") or ()
        if each["uid"] not in uids and each["kind"] not in ("Pod", "StatefulSet")
    ]
    if policy.get("whenScaled") == "Delete" and condemned:
        return [*owners, controller_reference({"apiVersion": "v1", "kind": "Pod", **pod})]
    if policy.get("whenDeleted") == "Delete":
        return [*owners, controller_reference(owner)]
    return owners


def add(cluster: Cluster) -> None:
    """Run the StatefulSet controller."""
    controller = StatefulSetController(cluster)
    cluster.manager.add(
        Controller(
            NAME,
            writes.patient(controller.reconcile),
            (Watch(SETS), Watch(PODS, controller.of_pod), Watch(CLAIMS, lambda change: ())),
        )
    )
