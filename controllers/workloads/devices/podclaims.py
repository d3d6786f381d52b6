"""The claims of a pod: their names, and whether they are reserved for it.

Follows dynamic-resource-allocation/resourceclaim.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from inkube.client import Object
from inkube.controllers.workloads.claims import is_controlled_by
from inkube.kinds import Change, Key


class Named(NamedTuple):
    """A claim that a pod names."""

    entry: str
    """The name in `spec.resourceClaims` of the pod."""
    name: str | None
    """The name of the ResourceClaim; None if none is needed or it was not created yet."""
    is_generated: bool
    """Whether it comes from a template, so that the pod must own it."""
    is_missing: bool = False
    """Whether the claim was not created from its template yet."""


def named(pod: Object) -> Iterator[Named]:
    """Yield the claims of a pod in order (Name)."""
    told = {
        each["name"]: each.get("resourceClaimName")
        for each in (pod.get("status") or {}).get("resourceClaimStatuses") or ()
    }
    for entry in pod["spec"].get("resourceClaims") or ():
        own = entry["name"]
        if entry.get("resourceClaimName"):
            yield Named(own, entry["resourceClaimName"], is_generated=False)
        else:
            yield Named(own, told.get(own), is_generated=True, is_missing=own not in told)


def extended_name(pod: Object) -> str | None:
    """Return the name of the claim for the extended resources of a pod, None without one."""
    told = (pod.get("status") or {}).get("extendedResourceClaimStatus") or {}
    found: str | None = told.get("resourceClaimName")
    return found


def _of_extended_resources(pod: Object) -> Iterator[Named]:
    name = extended_name(pod)
    if name:
        yield Named("", name, is_generated=False)


def ownership_problem(pod: Object, claim: Object) -> str:
    """Return why a generated claim is not the pod's, or "" if it is (IsForPod)."""
    if is_controlled_by(claim, pod):
        return ""
    mine, other = _place(pod), _place(claim)
    return f"ResourceClaim {other} was not created for Pod {mine} (Pod is not owner)"


def owner_reference(pod: Object) -> Object:
    """Return the reference to the pod in a claim that is made for it."""
    meta = pod["metadata"]
    own = {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"]}
    return {**own, "controller": True}


def is_reserved(claim: Object, pod: Object) -> bool:
    """Return whether a claim is reserved for a pod (IsReservedForPod)."""
    consumers = (claim.get("status") or {}).get("reservedFor") or ()
    return any(each["uid"] == pod["metadata"]["uid"] for each in consumers)


def users_of(change: Change) -> Iterator[Key]:
    """Yield the pods for which a claim is or was reserved."""
    for claim in (change.old, change.new):
        for each in ((claim or {}).get("status") or {}).get("reservedFor") or ():
            if each["resource"] == "pods":
                yield Key(change.object["metadata"]["namespace"], each["name"])


def preparation_problem(pod: Object, find: Callable[[Key], Object | None]) -> str:
    """Return why a kubelet cannot prepare the claims of a pod, or "" if it can."""
    meta = pod["metadata"]
    for each in (*named(pod), *_of_extended_resources(pod)):
        if each.is_missing:
            return f'pod "{_place(pod)}": ResourceClaim not created yet'
        if each.name is None:
            continue
        claim = find(Key(meta["namespace"], each.name))
        if claim is None:
            missing = f'resourceclaims.resource.k8s.io "{each.name}" not found'
            return f"fetch ResourceClaim {each.name}: {missing}"
        if each.is_generated and ownership_problem(pod, claim):
            return ownership_problem(pod, claim)
        if not is_reserved(claim, pod):
            what = f"ResourceClaim {each.name} ({claim['metadata']['uid']})"
            return f"pod {meta['name']} ({meta['uid']}) is not allowed to use {what}"
    return ""


def consumer(pod: Object) -> Object:
    """Return the entry of a pod in `status.reservedFor` (BindTo)."""
    return {"resource": "pods", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}


def allocation(claim: Object) -> Object | None:
    """Return the allocation of a claim, or None without one."""
    found: Object | None = (claim.get("status") or {}).get("allocation")
    return found


def results(allocated: Object | None) -> list[Object]:
    """Return the devices of an allocation."""
    found: list[Object] = ((allocated or {}).get("devices") or {}).get("results") or []
    return found


def _place(obj: Object) -> str:
    return f"{obj['metadata'].get('namespace', '')}/{obj['metadata']['name']}"
