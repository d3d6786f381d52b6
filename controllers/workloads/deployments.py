"""Deployments: a ReplicaSet for each template, and the rollout from one template to the next.

Follows pkg/controller/deployment: sync.go, rolling.go, recreate.go, progress.go and
util/deployment_util.go, in the same order of steps. Each step is one reconcile.
"""

from collections.abc import Iterator
from datetime import timedelta

from inkube.client import Object
from inkube.controllers.workloads import pods, rollouts, templates, writes
from inkube.controllers.workloads.claims import Claims, controller_of, named_owners
from inkube.controllers.workloads.cluster import PODS, Cluster
from inkube.controllers.workloads.replicasets import REPLICA_SETS
from inkube.controllers.workloads.rollouts import size
from inkube.formats import format_time
from inkube.kinds import Change, Controller, Key, Reason, Result, StatusError, Watch

NAME = "deployment-controller"
DEPLOYMENTS = "apps/v1/deployments"
_SELECTING_ALL = "This deployment is selecting all pods. A non-empty selector is required."


class _StaleCache(Exception):
    """Ends this reconcile, because an event about a write follows."""


class DeploymentController:
    """Creates and scales the ReplicaSets of one Deployment at a time."""

    def __init__(self, cluster: Cluster) -> None:
        self._clock = cluster.clock
        self._client = cluster.client()
        self._events = cluster.recorder(NAME)
        self._deployments = cluster.informer(DEPLOYMENTS)
        self._sets = cluster.informer(REPLICA_SETS)
        self._pods = cluster.informer(PODS)
        self._owned_sets = cluster.by_controller(REPLICA_SETS)
        self._owned_pods = cluster.by_controller(PODS)
        self._claims = Claims(self._client, REPLICA_SETS, DEPLOYMENTS)

    def of_set(self, change: Change) -> Iterator[Key]:
        """Yield the Deployment of a ReplicaSet; all of the namespace for one
        without a controller."""
        namespace = change.object["metadata"]["namespace"]
        yield from named_owners(change, "Deployment")
        if change.new is not None and controller_of(change.new) is None:
            for deployment in self._deployments.items(namespace):
                yield Key.of(deployment)

    def of_pod(self, change: Change) -> Iterator[Key]:
        """Yield the Deployment with strategy Recreate of a pod that is no longer active: it can
        wait for the end of its last pod."""
        if change.new is not None and pods.is_active(change.new):
            return
        pod = change.object
        reference = controller_of(pod)
        if reference is None or reference["kind"] != "ReplicaSet":
            return
        namespace = pod["metadata"]["namespace"]
        replica_set = self._sets.get(Key(namespace, reference["name"]))
        owner = controller_of(replica_set) if replica_set is not None else None
        if owner is None:
            return
        found = self._deployments.get(Key(namespace, owner["name"]))
        if found is not None and found["spec"]["strategy"]["type"] == "Recreate":
            yield Key.of(found)

    async def reconcile(self, key: Key) -> Result | None:
        """Take one step for a Deployment (syncDeployment)."""
        cached = self._deployments.get(key)
        if cached is None:
            return None
        try:
            return await self._sync(templates.copy(cached))
        except _StaleCache:
            return None

    async def _sync(self, deployment: Object) -> Result | None:
        if not any((deployment["spec"].get("selector") or {}).values()):
            await self._events.warning(deployment, "SelectingAll", _SELECTING_ALL)
            generation = deployment["metadata"]["generation"]
            status = {**(deployment.get("status") or {}), "observedGeneration": generation}
            await self._write(deployment, status)
            return None
        sets = await self._claim_sets(deployment)
        if pods.is_deleting(deployment):
            new, old = rollouts.split(deployment, sets)
            return await self._sync_status(deployment, new, old)
        await self._check_paused(deployment)
        if deployment["spec"].get("paused") or self._is_scaled(deployment, sets):
            return await self._scale_only(deployment, sets)
        if deployment["spec"]["strategy"]["type"] == "Recreate":
            return await self._recreate(deployment, sets)
        return await self._roll(deployment, sets)

    async def _claim_sets(self, deployment: Object) -> list[Object]:
        meta = deployment["metadata"]
        keys = self._owned_sets.keys(meta["uid"])
        keys += self._owned_sets.keys(f"none/{meta['namespace']}")
        candidates = [found for found in map(self._sets.get, keys) if found is not None]
        return await self._claims.claim(deployment, deployment["spec"]["selector"], candidates)

    def _is_scaled(self, deployment: Object, sets: list[Object]) -> bool:
        """Return whether an active ReplicaSet has its size for other desired replicas
        (isScalingEvent)."""
        wanted = deployment["spec"]["replicas"]
        return any(
            rollouts.number(each, "desired-replicas") not in (None, wanted)
            for each in sets
            if size(each)
        )

    async def _check_paused(self, deployment: Object) -> None:
        """Set Progressing if the Deployment was paused or resumed (checkPausedConditions)."""
        if not rollouts.has_deadline(deployment):
            return
        present = pods.condition(deployment, "Progressing")
        reason = present.get("reason") if present is not None else None
        if reason == "ProgressDeadlineExceeded":
            return
        paused = bool(deployment["spec"].get("paused"))
        if paused == (reason == "DeploymentPaused"):
            return
        words = (
            ("DeploymentPaused", "Deployment is paused")
            if paused
            else ("DeploymentResumed", "Deployment is resumed")
        )
        self._note(deployment["status"], "Progressing", "Unknown", *words)
        await self._write(deployment, deployment["status"], anew=True)

    def _note(self, status: Object, kind: str, value: str, reason: str, message: str) -> None:
        rollouts.set_condition(
            status, kind, value, reason, message, now=format_time(self._clock.now())
        )

    # --- rollouts

    async def _scale_only(self, deployment: Object, sets: list[Object]) -> Result | None:
        """Scale existing ReplicaSets without the creation of a new one, and write the status
        (sync)."""
        new, old = await self._revisions(deployment, sets, create=False)
        new, old = await self._scale(deployment, new, old)
        if deployment["spec"].get("paused"):
            await self._clean_up(deployment, old)
        return await self._sync_status(deployment, new, old)

    async def _roll(self, deployment: Object, sets: list[Object]) -> Result | None:
        """Take one step of a rolling update, and write the status (rolloutRolling)."""
        new, old = await self._revisions(deployment, sets, create=True)
        assert new is not None, "it was made"
        goal = rollouts.new_size(deployment, [new, *old], new)
        if goal != size(new):
            new = await self._resize(deployment, new, goal)
            return await self._sync_rollout(deployment, new, old)
        changed, old = await self._shrink_old(deployment, new, old)
        if not changed and rollouts.is_complete(deployment, deployment["status"]):
            await self._clean_up(deployment, old)
        return await self._sync_rollout(deployment, new, old)

    async def _shrink_old(
        self, deployment: Object, new: Object, old: list[Object]
    ) -> tuple[bool, list[Object]]:
        """Scale down old sets, unhealthy pods first, within maxUnavailable
        (reconcileOldReplicaSets). Returns whether a size changed, and the old sets."""
        if not any(map(size, old)):
            return False, old
        replicas = deployment["spec"]["replicas"]
        least = replicas - rollouts.max_unavailable(deployment)
        everything = sum(map(size, [new, *old]))
        missing = size(new) - (new["status"].get("availableReplicas") or 0)
        most = everything - least - missing
        if most <= 0:
            return False, old
        old = sorted(old, key=rollouts.age)
        goals = {each["metadata"]["uid"]: size(each) for each in old}
        done = 0
        for each in old:
            uid, available = each["metadata"]["uid"], each["status"].get("availableReplicas") or 0
            step = min(most - done, goals[uid] - available)
            if done < most and goals[uid] and step > 0:
                goals[uid] -= step
                done += step
        available = sum(each["status"].get("availableReplicas") or 0 for each in [new, *old])
        left = available - least
        for each in old:
            uid = each["metadata"]["uid"]
            step = min(left, goals[uid])
            if step > 0:
                goals[uid] -= step
                left -= step
        changed = []
        for each in old:
            goal = goals[each["metadata"]["uid"]]
            is_same = goal == size(each)
            changed.append(each if is_same else await self._resize(deployment, each, goal))
        return changed != old, changed

    async def _recreate(self, deployment: Object, sets: list[Object]) -> Result | None:
        """Scale down old sets, wait for the end of their pods, then create new pods
        (rolloutRecreate)."""
        new, old = await self._revisions(deployment, sets, create=False)
        active = [each for each in old if size(each)]
        if active:
            shrunk = {each["metadata"]["uid"]: each for each in old}
            for each in active:
                shrunk[each["metadata"]["uid"]] = await self._resize(deployment, each, 0)
            return await self._sync_rollout(deployment, new, list(shrunk.values()))
        if self._has_pods(old):
            return await self._sync_rollout(deployment, new, old)
        if new is None:
            new, old = await self._revisions(deployment, sets, create=True)
        assert new is not None, "it was made"
        new = await self._resize(deployment, new, deployment["spec"]["replicas"])
        if rollouts.is_complete(deployment, deployment["status"]):
            await self._clean_up(deployment, old)
        return await self._sync_rollout(deployment, new, old)

    def _has_pods(self, sets: list[Object]) -> bool:
        """Return whether the sets have pods that are not terminal, also in deletion
        (oldPodsRunning)."""
        for each in sets:
            for key in self._owned_pods.keys(each["metadata"]["uid"]):
                pod = self._pods.get(key)
                if pod is not None and not pods.is_terminal(pod):
                    return True
        return False

    # --- ReplicaSets

    async def _revisions(
        self, deployment: Object, sets: list[Object], *, create: bool
    ) -> tuple[Object | None, list[Object]]:
        """Return the set with the Deployment's template, and the others
        (getAllReplicaSetsAndSyncRevision).

        With `create`, a missing set is created.
        """
        new, old = rollouts.split(deployment, sets)
        revision = max((rollouts.number(each, "revision") or 0 for each in old), default=0) + 1
        if new is not None:
            new = await self._sync_new_set(deployment, new, revision)
        elif create:
            new = await self._create_set(deployment, old, revision)
        return new, old

    async def _sync_new_set(self, deployment: Object, replica_set: Object, revision: int) -> Object:
        """Write the revision and the Deployment's annotations to the set with its template."""
        kept = templates.copy(replica_set)
        changed = rollouts.annotate(deployment, kept, revision)
        ready = deployment["spec"].get("minReadySeconds") or 0
        if (kept["spec"].get("minReadySeconds") or 0) != ready:
            kept["spec"]["minReadySeconds"] = ready
            changed = True
        if changed:
            kept = await self._update_set(kept)
        news = rollouts.set_revision(deployment, str(rollouts.number(kept, "revision") or 0))
        missing = pods.condition(deployment, "Progressing") is None
        if rollouts.has_deadline(deployment) and missing:
            message = f'Found new replica set "{kept["metadata"]["name"]}"'
            self._note(deployment["status"], "Progressing", "True", "FoundNewReplicaSet", message)
            news = True
        if news:
            await self._write(deployment, deployment["status"], anew=True)
        return kept

    async def _create_set(self, deployment: Object, old: list[Object], revision: int) -> Object:
        status = deployment["status"]
        body = rollouts.replica_set(deployment, status.get("collisionCount"))
        body["spec"]["replicas"] = rollouts.new_size(deployment, [body, *old], body)
        rollouts.annotate(deployment, body, revision)
        rollouts.set_sizes(deployment, body)
        name = body["metadata"]["name"]
        try:
            made = await self._client.create(body)
        except StatusError as error:
            if error.reason == Reason.ALREADY_EXISTS:
                return await self._handle_collision(deployment, name)
            await self._handle_create_error(deployment, name, error)
            raise
        await self._sets.wait_for_write(made)
        if size(made):
            message = f"Scaled up replica set {name} from 0 to {size(made)}"
            await self._events.normal(deployment, "ScalingReplicaSet", message)
        news = rollouts.set_revision(deployment, str(revision))
        if rollouts.has_deadline(deployment):
            message = f'Created new replica set "{name}"'
            self._note(status, "Progressing", "True", "NewReplicaSetCreated", message)
            news = True
        if news:
            await self._write(deployment, status, anew=True)
        return made

    async def _handle_collision(self, deployment: Object, name: str) -> Object:
        """Handle a name that another ReplicaSet has: the hashes collide, or the cache is late."""
        found = await self._client.get(REPLICA_SETS, name, deployment["metadata"]["namespace"])
        reference = controller_of(found)
        is_ours = reference is not None and reference["uid"] == deployment["metadata"]["uid"]
        if is_ours and rollouts.is_of(deployment, found):
            return found
        status = deployment["status"]
        status["collisionCount"] = (status.get("collisionCount") or 0) + 1
        await self._write(deployment, status, anew=True)
        raise _StaleCache

    async def _handle_create_error(self, deployment: Object, name: str, error: StatusError) -> None:
        message = f'Failed to create new replica set "{name}": {error.message}'
        if rollouts.has_deadline(deployment):
            status = deployment["status"]
            self._note(status, "Progressing", "False", "ReplicaSetCreateError", message)
            await self._write(deployment, status, anew=True)
        await self._events.warning(deployment, "ReplicaSetCreateError", message)

    async def _resize(self, deployment: Object, replica_set: Object, replicas: int) -> Object:
        """Write a new size, and an event about it (scaleReplicaSet)."""
        changed = templates.copy(replica_set)
        before = size(replica_set)
        changed["spec"]["replicas"] = replicas
        resized = rollouts.set_sizes(deployment, changed)
        if before == replicas and not resized:
            return replica_set
        changed = await self._update_set(changed)
        if before != replicas:
            word = "up" if replicas > before else "down"
            name = replica_set["metadata"]["name"]
            message = f"Scaled {word} replica set {name} from {before} to {replicas}"
            await self._events.normal(deployment, "ScalingReplicaSet", message)
        return changed

    async def _update_set(self, changed: Object) -> Object:
        written = await writes.update(self._client, changed)
        if written is None:
            raise _StaleCache
        await self._sets.wait_for_write(written)
        return written

    async def _scale(
        self, deployment: Object, new: Object | None, old: list[Object]
    ) -> tuple[Object | None, list[Object]]:
        """Scale the ReplicaSets to the wanted replicas (scale): a single active set gets all
        replicas. After a complete rollout, old sets get 0. Otherwise, the sets are scaled in
        proportion."""
        everything = ([new] if new is not None else []) + old
        goals = rollouts.scaled(deployment, new, old)
        changed = {}
        for each in everything:
            uid = each["metadata"]["uid"]
            goal = goals.get(uid)
            changed[uid] = each if goal is None else await self._resize(deployment, each, goal)
        left = [changed[each["metadata"]["uid"]] for each in old]
        return (changed[new["metadata"]["uid"]] if new is not None else None), left

    async def _clean_up(self, deployment: Object, old: list[Object]) -> None:
        """Delete the oldest empty ReplicaSets beyond revisionHistoryLimit (cleanupDeployment)."""
        limit = deployment["spec"].get("revisionHistoryLimit")
        candidates = [each for each in old if not pods.is_deleting(each)]
        if limit is None or len(candidates) <= limit:
            return
        candidates.sort(key=lambda each: rollouts.number(each, "revision") or 0)
        for each in candidates[: len(candidates) - limit]:
            status = each.get("status") or {}
            seen = status.get("observedGeneration", 0) >= each["metadata"]["generation"]
            if not status.get("replicas") and not size(each) and seen:
                await writes.delete(self._client, REPLICA_SETS, each)

    # --- status

    async def _sync_status(
        self, deployment: Object, new: Object | None, old: list[Object]
    ) -> Result | None:
        """Write the status (syncDeploymentStatus)."""
        await self._write(deployment, self._status(deployment, new, old))
        return None

    async def _sync_rollout(
        self, deployment: Object, new: Object | None, old: list[Object]
    ) -> Result | None:
        """Write the status with Progressing, again at the deadline (syncRolloutStatus)."""
        status = self._status(deployment, new, old)
        if not rollouts.has_deadline(deployment):
            writes.remove_condition(status, "Progressing")
        present = pods.condition(deployment, "Progressing")
        reason = present.get("reason") if present is not None else ""
        done = status.get("replicas") == status.get("updatedReplicas") and (
            reason == "NewReplicaSetAvailable"
        )
        if rollouts.has_deadline(deployment) and not done:
            self._set_progressing(deployment, status, new)
        failed = next(
            filter(None, (pods.condition(each, "ReplicaFailure") for each in [new, *old] if each)),
            None,
        )
        if failed is not None:
            self._note(status, "ReplicaFailure", "True", failed["reason"], failed["message"])
        else:
            writes.remove_condition(status, "ReplicaFailure")
        await self._write(deployment, status)
        return self._deadline({**deployment, "status": status})

    def _set_progressing(self, deployment: Object, status: Object, new: Object | None) -> None:
        if new is not None:
            what = f'ReplicaSet "{new["metadata"]["name"]}"'
        else:
            what = f'Deployment "{deployment["metadata"]["name"]}"'
        if rollouts.is_complete(deployment, status):
            message = f"{what} has successfully progressed."
            self._note(status, "Progressing", "True", "NewReplicaSetAvailable", message)
        elif rollouts.is_progressing(deployment["status"], status):
            present = pods.condition({"status": status}, "Progressing")
            moved = (present or {}).get("lastTransitionTime")
            writes.remove_condition(status, "Progressing")
            message = f"{what} is progressing."
            self._note(status, "Progressing", "True", "ReplicaSetUpdated", message)
            if present is not None and present["status"] == "True":
                status["conditions"][-1]["lastTransitionTime"] = moved
        elif self._has_timed_out(deployment):
            message = f"{what} has timed out progressing."
            self._note(status, "Progressing", "False", "ProgressDeadlineExceeded", message)

    def _has_timed_out(self, deployment: Object) -> bool:
        """Return whether the rollout exceeded its progress deadline (DeploymentTimedOut)."""
        present = pods.condition(deployment, "Progressing")
        if present is None or present.get("reason") == "NewReplicaSetAvailable":
            return False
        if present.get("reason") == "ProgressDeadlineExceeded":
            return True
        return self._seconds_to_deadline(deployment, present) < 0

    def _seconds_to_deadline(self, deployment: Object, present: Object) -> float:
        """Return seconds until the deadline, counted from the last progress."""
        deadline = timedelta(seconds=deployment["spec"]["progressDeadlineSeconds"])
        end = pods.moment(present["lastUpdateTime"]) + deadline
        return (end - self._clock.now()).total_seconds()

    def _deadline(self, deployment: Object) -> Result | None:
        """Return a result that reconciles again one second after the progress deadline, or None if
        no deadline can expire (requeueStuckDeployment)."""
        present = pods.condition(deployment, "Progressing")
        if (
            present is None
            or not rollouts.has_deadline(deployment)
            or rollouts.is_complete(deployment, deployment["status"])
            or present.get("reason") in ("ProgressDeadlineExceeded", "NewReplicaSetAvailable")
        ):
            return None
        return Result(requeue_after=max(self._seconds_to_deadline(deployment, present), 0.0) + 1.0)

    def _status(self, deployment: Object, new: Object | None, old: list[Object]) -> Object:
        """Return the status with the current numbers and the condition Available
        (calculateStatus)."""
        status = rollouts.counted(deployment, new, old)
        least = deployment["spec"]["replicas"] - rollouts.max_unavailable(deployment)
        if status.get("availableReplicas", 0) >= least:
            message = "Deployment has minimum availability."
            self._note(status, "Available", "True", "MinimumReplicasAvailable", message)
        else:
            message = "Deployment does not have minimum availability."
            self._note(status, "Available", "False", "MinimumReplicasUnavailable", message)
        return status

    async def _write(self, deployment: Object, status: Object, *, anew: bool = False) -> None:
        """Write the status, and update the Deployment in place with the written object.

        `anew`: write also if the status equals that of the object, which the caller changed. Raises
        _Outdated if the Deployment was deleted or changed meanwhile.
        """
        if not anew and (deployment.get("status") or {}) == status:
            return
        changed = {**deployment, "status": status}
        written = await writes.update(self._client, changed, subresource="status")
        if written is None:
            raise _StaleCache
        await self._deployments.wait_for_write(written)
        deployment.update(written)


def add(cluster: Cluster) -> None:
    """Run the Deployment controller."""
    controller = DeploymentController(cluster)
    cluster.manager.add(
        Controller(
            NAME,
            writes.patient(controller.reconcile),
            (
                Watch(DEPLOYMENTS),
                Watch(REPLICA_SETS, controller.of_set),
                Watch(PODS, controller.of_pod),
            ),
            sums_up=True,
        )
    )
