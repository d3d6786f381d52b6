"""The arithmetic of Deployments: the sizes of their ReplicaSets. All functions are pure.

Follows pkg/controller/deployment/util/deployment_util.go.
"""

import math
from typing import Any

import orjson

from inkube.client import Object
from inkube.controllers.workloads import numbers, pods, templates
from inkube.formats import controller_reference

HASH = "pod-template-hash"
ANNOTATION = "deployment.kubernetes.io/"
_NOT_COPIED = frozenset({
    "kubectl.kubernetes.io/last-applied-configuration",
    "deprecated.deployment.rollback.to",
    *(f"{ANNOTATION}{name}"
      for name in ("revision", "revision-history", "desired-replicas", "max-replicas")),
})  # fmt: skip
_NO_DEADLINE = 2**31 - 1


def size(replica_set: Object) -> int:
    """Return the wanted number of replicas of a ReplicaSet."""
    return replica_set["spec"].get("replicas") or 0


def age(replica_set: Object) -> tuple[str, str]:
    """Return a sort key by creation time, then by name."""
    meta = replica_set["metadata"]
    return meta.get("creationTimestamp", ""), meta["name"]


def number(obj: Object, name: str) -> int | None:
    """Return a number from an annotation of the Deployment controller, or None without such a
    number."""
    text = (obj["metadata"].get("annotations") or {}).get(ANNOTATION + name, "")
    return numbers.whole(text)


def scaled_value(value: Any, total: int, *, up: bool) -> int:
    """Return an IntOrString as a number; percentages are of a total
    (GetScaledValueFromIntOrPercent).

    `up` selects the rounding of percentages. A missing value is 0, and so is a percentage beyond
    an int64, which validation also reads as 0 (getPercentValue).
    """
    if isinstance(value, str):
        share = (numbers.whole(value.rstrip("%")) or 0) * total
        return -(-share // 100) if up else share // 100
    return int(value or 0)


def _fenceposts(deployment: Object) -> tuple[int, int]:
    """Return maxSurge and maxUnavailable, or (0, 1) if both are 0, which would stop the rollout
    (ResolveFenceposts)."""
    replicas = deployment["spec"]["replicas"]
    rolling = deployment["spec"]["strategy"].get("rollingUpdate") or {}
    surge = scaled_value(rolling.get("maxSurge"), replicas, up=True)
    unavailable = scaled_value(rolling.get("maxUnavailable"), replicas, up=False)
    return (surge, unavailable) if surge or unavailable else (0, 1)


def _is_rolling(deployment: Object) -> bool:
    return bool(deployment["spec"]["strategy"]["type"] == "RollingUpdate")


def max_surge(deployment: Object) -> int:
    """Return the number of pods that can exist in addition to the wanted replicas."""
    return _fenceposts(deployment)[0] if _is_rolling(deployment) else 0


def max_unavailable(deployment: Object) -> int:
    """Return the number of wanted replicas that can be unavailable."""
    replicas = deployment["spec"]["replicas"]
    if not _is_rolling(deployment) or not replicas:
        return 0
    return int(min(_fenceposts(deployment)[1], replicas))


def has_deadline(deployment: Object) -> bool:
    """Return whether the Deployment has a progress deadline."""
    deadline = deployment["spec"].get("progressDeadlineSeconds")
    return deadline is not None and deadline != _NO_DEADLINE


def _without_hash(template: Object) -> Object:
    meta = template.get("metadata") or {}
    labels = {key: value for key, value in (meta.get("labels") or {}).items() if key != HASH}
    return {**template, "metadata": {**meta, "labels": labels}}


def is_of(deployment: Object, replica_set: Object) -> bool:
    """Return whether the ReplicaSet has the Deployment's template, without the hash
    (EqualIgnoreHash)."""
    wanted = _without_hash(deployment["spec"]["template"])
    return _without_hash(replica_set["spec"]["template"]) == wanted


def split(deployment: Object, sets: list[Object]) -> tuple[Object | None, list[Object]]:
    """Return the oldest ReplicaSet with the Deployment's template, if any, and all other
    ReplicaSets."""
    new = next((each for each in sorted(sets, key=age) if is_of(deployment, each)), None)
    return new, [each for each in sets if each is not new]


def replica_set(deployment: Object, collisions: int | None) -> Object:
    """Return a new ReplicaSet with the Deployment's template and 0 replicas."""
    meta, spec = deployment["metadata"], deployment["spec"]
    template: Object = orjson.loads(orjson.dumps(spec["template"]))
    digest = templates.template_hash(template, collisions)
    own = template.setdefault("metadata", {})
    own["labels"] = {**(own.get("labels") or {}), HASH: digest}
    selector = spec["selector"]
    made: Object = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{meta['name']}-{digest}",
            "namespace": meta["namespace"],
            "labels": dict(own["labels"]),
            "ownerReferences": [controller_reference(deployment)],
        },
        "spec": {
            "replicas": 0,
            "selector": {
                **selector,
                "matchLabels": {**(selector.get("matchLabels") or {}), HASH: digest},
            },
            "template": template,
        },
    }
    if spec.get("minReadySeconds"):
        made["spec"]["minReadySeconds"] = spec["minReadySeconds"]
    return made


def annotate(deployment: Object, replica_set: Object, revision: int) -> bool:
    """Write the revision and the annotations of a Deployment to a set, in place
    (SetNewReplicaSetAnnotations). Returns whether an annotation changed."""
    before = dict(replica_set["metadata"].get("annotations") or {})
    given = deployment["metadata"].get("annotations") or {}
    after = before | {key: value for key, value in given.items() if key not in _NOT_COPIED}
    own, history = f"{ANNOTATION}revision", f"{ANNOTATION}revision-history"
    former = before.get(own)
    if former is None or (number(replica_set, "revision") or revision) < revision:
        after[own] = str(revision)
        if former is not None:
            past = before.get(history)
            after[history] = f"{past},{former}" if past else former
    replica_set["metadata"]["annotations"] = after
    return after != before


def set_sizes(deployment: Object, replica_set: Object) -> bool:
    """Record the replicas of the Deployment for which a set has its size (SetReplicasAnnotations).

    Returns whether an annotation changed.
    """
    replicas = deployment["spec"]["replicas"]
    wanted = {
        f"{ANNOTATION}desired-replicas": str(replicas),
        f"{ANNOTATION}max-replicas": str(replicas + max_surge(deployment)),
    }
    annotations = replica_set["metadata"].get("annotations") or {}
    replica_set["metadata"]["annotations"] = {**annotations, **wanted}
    return any(annotations.get(key) != value for key, value in wanted.items())


def set_revision(deployment: Object, revision: str) -> bool:
    """Write the revision to the annotations of a Deployment, in place (SetDeploymentRevision).
    Returns whether the revision changed."""
    annotations = deployment["metadata"].get("annotations") or {}
    if annotations.get(f"{ANNOTATION}revision") == revision:
        return False
    deployment["metadata"]["annotations"] = {**annotations, f"{ANNOTATION}revision": revision}
    return True


def new_size(deployment: Object, sets: list[Object], new: Object) -> int:
    """Return the size that maxSurge permits, at most the wanted replicas (NewRSNewReplicas)."""
    wanted: int = deployment["spec"]["replicas"]
    if not _is_rolling(deployment) or size(new) >= wanted:
        return wanted
    room = wanted + max_surge(deployment) - sum(map(size, sets))
    return size(new) + max(min(room, wanted - size(new)), 0)


def scaled(deployment: Object, new: Object | None, old: list[Object]) -> dict[str, int]:
    """Return uid → new size, for the ReplicaSets that a changed number of replicas
    resizes (scale)."""
    wanted = deployment["spec"]["replicas"]
    everything = old + ([new] if new is not None else [])
    active = [each for each in everything if size(each)]
    latest = sorted(old, key=age, reverse=True)
    if len(active) <= 1:
        only = next(iter(active or ([new] if new is not None else []) or latest), None)
        return {only["metadata"]["uid"]: wanted} if only is not None else {}
    if new is not None and _is_saturated(deployment, new):
        return {each["metadata"]["uid"]: 0 for each in old if size(each)}
    if not _is_rolling(deployment):
        return {}
    return _proportions(deployment, active)


def _is_saturated(deployment: Object, new: Object) -> bool:
    wanted: int = deployment["spec"]["replicas"]
    available: int = (new.get("status") or {}).get("availableReplicas") or 0
    return size(new) == wanted == number(new, "desired-replicas") and available == wanted


def _proportions(deployment: Object, active: list[Object]) -> dict[str, int]:
    """Distribute the added or removed replicas over the active sets, the largest set first."""
    wanted = deployment["spec"]["replicas"]
    allowed = wanted + max_surge(deployment) if wanted > 0 else 0
    change = allowed - sum(map(size, active))
    by_age = sorted(active, key=age, reverse=change > 0)
    ordered = sorted(by_age, key=size, reverse=True)
    goals, done = {}, 0
    for each in ordered:
        step = 0
        if change and change != done:
            share, left = _share(deployment, each), change - done
            step = min(share, left) if change > 0 else max(share, left)
        goals[each["metadata"]["uid"]] = size(each) + step
        done += step
    if change and ordered:
        first = ordered[0]["metadata"]["uid"]
        goals[first] = max(goals[first] + change - done, 0)
    return goals


def _share(deployment: Object, each: Object) -> int:
    """Return the change of one set in proportion to its size (getReplicaSetFraction)."""
    wanted = deployment["spec"]["replicas"]
    if not wanted:
        return -size(each)
    former = number(each, "max-replicas") or deployment["status"].get("replicas") or 1
    exact = size(each) * (wanted + max_surge(deployment)) / former
    return int(math.floor(exact + 0.5) - size(each))


def counted(deployment: Object, new: Object | None, old: list[Object]) -> Object:
    """Return the status with the numbers of a Deployment's pods, and the previous conditions
    (calculateStatus)."""
    everything = ([new] if new is not None else []) + old

    def total(member: str) -> int:
        return sum((each.get("status") or {}).get(member) or 0 for each in everything)

    before: Object = deployment.get("status") or {}
    available = total("availableReplicas")
    updated = ((new or {}).get("status") or {}).get("replicas") or 0
    counts = {
        "observedGeneration": deployment["metadata"]["generation"],
        "replicas": total("replicas"),
        "updatedReplicas": updated,
        "readyReplicas": total("readyReplicas"),
        "availableReplicas": available,
        "unavailableReplicas": max(sum(map(size, everything)) - available, 0),
    }
    status: Object = {member: count for member, count in counts.items() if count}
    status["terminatingReplicas"] = total("terminatingReplicas")
    if before.get("collisionCount") is not None:
        status["collisionCount"] = before["collisionCount"]
    status["conditions"] = [dict(each) for each in before.get("conditions") or ()]
    return status


def is_complete(deployment: Object, status: Object) -> bool:
    """Return whether all replicas are updated and available, and no old ones exist
    (DeploymentComplete)."""
    wanted: int = deployment["spec"]["replicas"]
    members = ("updatedReplicas", "replicas", "availableReplicas")
    return (
        all((status.get(member) or 0) == wanted for member in members)
        and status.get("observedGeneration", 0) >= deployment["metadata"]["generation"]
    )


def is_progressing(old_status: Object, new_status: Object) -> bool:
    """Return whether the status has more new pods, fewer old pods, or more ready or available pods
    than before (DeploymentProgressing)."""

    def of(status: Object, member: str) -> int:
        return int(status.get(member) or 0)

    old_before = of(old_status, "replicas") - of(old_status, "updatedReplicas")
    old_after = of(new_status, "replicas") - of(new_status, "updatedReplicas")
    return old_after < old_before or any(
        of(new_status, member) > of(old_status, member)
        for member in ("updatedReplicas", "readyReplicas", "availableReplicas")
    )


def set_condition(
    status: Object, kind: str, value: str, reason: str, message: str, *, now: str
) -> None:
    """Set a condition of the status in place. A changed condition moves to the end of the list
    (SetDeploymentCondition)."""
    present = pods.condition({"status": status}, kind)
    if present is not None and (present["status"], present["reason"]) == (value, reason):
        return
    moved = present["lastTransitionTime"] if present and present["status"] == value else now
    left = [each for each in status.get("conditions") or () if each["type"] != kind]
    status["conditions"] = [
        *left,
        {
            "type": kind,
            "status": value,
            "lastUpdateTime": now,
            "lastTransitionTime": moved,
            "reason": reason,
            "message": message,
        },
    ]
