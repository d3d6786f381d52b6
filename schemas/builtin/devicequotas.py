"""Extended resources in quotas: which of them a ResourceClaim uses by its device classes.

Each class provides `deviceclass.resource.kubernetes.io/NAME` and the `extendedResourceName` that it
names (the feature gate DRAExtendedResource). Follows pkg/quota/v1/evaluator/core/resource_claims.go
and deviceclass/extendedresourcecache.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from inkube.schemas.objects import Object
from inkube.schemas.quantity import Quantity

DEVICES = ".deviceclass.resource.k8s.io/devices"
"""The end of names in quotas, after the name of a class."""
IMPLICIT = "requests.deviceclass.resource.kubernetes.io/"
"""The beginning of names in quotas, before the name of a class."""
_REQUESTS = "requests."
_OF_PODS = "resource.kubernetes.io/extended-resource-claim"
"""The annotation of claims that kube-scheduler makes for the extended resources of a pod."""


def provided(classes: Iterable[Object]) -> dict[str, str]:
    """Return the extended resource that each device class names, or "", by its name."""
    return {
        each["metadata"]["name"]: (each.get("spec") or {}).get("extendedResourceName") or ""
        for each in classes
    }


class Devices(NamedTuple):
    """What decides about the extended resources of the claims in a namespace."""

    provided: Mapping[str, str]
    find_pod: Callable[[str], Object | None]
    claims: Callable[[], Iterable[Object]]

    def counts(self, name: str) -> bool:
        """Return whether a name in a quota is an extended resource that a class provides."""
        if name.startswith(IMPLICIT) and name.removeprefix(IMPLICIT) in self.provided:
            return True
        resource = name.removeprefix(_REQUESTS)
        return resource != name and resource in self.provided.values()

    def resources(self, by_class: Mapping[str, Quantity]) -> dict[str, Quantity]:
        """Return the names in quotas of the resources of devices, with the number of these."""
        used = {}
        for name, amount in by_class.items():
            device_class = name.removesuffix(DEVICES)
            if device_class and device_class != name:
                used[f"{IMPLICIT}{device_class}"] = amount
                if resource := self.provided.get(device_class):
                    used[f"{_REQUESTS}{resource}"] = amount
        return used

    def pod_of(self, claim: Object) -> Object | None:
        """Return the pod whose own usage contains that of a claim for its extended resources; None
        for other claims, and for all but one claim of a pod (getVerifiedPodUsage)."""
        owner = _owner(claim)
        pod = None if owner is None else self.find_pod(owner["name"])
        if owner is None or pod is None or owner.get("uid") != pod["metadata"].get("uid"):
            return None
        named = (pod.get("status") or {}).get("extendedResourceClaimStatus")
        if named is not None:
            return pod if named.get("resourceClaimName") == claim["metadata"].get("name") else None
        own = (each for each in self.claims() if (_owner(each) or {}).get("uid") == owner["uid"])
        return None if any(_age(each) < _age(claim) for each in own) else pod


def _owner(claim: Object) -> Object | None:
    """Return the reference to the pod for whose extended resources a claim was made, or None."""
    meta = claim["metadata"]
    if (meta.get("annotations") or {}).get(_OF_PODS) != "true":
        return None
    for owner in meta.get("ownerReferences") or ():
        if owner.get("controller"):
            return owner if (owner["apiVersion"], owner["kind"]) == ("v1", "Pod") else None
    return None


def _age(claim: Object) -> tuple[str, str]:
    meta = claim["metadata"]
    return meta.get("creationTimestamp") or "", meta.get("name") or ""
