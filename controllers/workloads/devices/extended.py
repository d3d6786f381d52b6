"""Extended resources that devices provide: a pod asks for `example.com/gpu: 2` in its containers,
and a DeviceClass names that resource (`spec.extendedResourceName`).

On a node without the resource in its status, kube-scheduler allocates devices instead, in a claim
that it makes for the pod. The feature gate is DRAExtendedResource. Follows
dynamicresources/extendeddynamicresources.go and deviceclass/extendedresourcecache.
"""

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from inkube.client import Object
from inkube.controllers.workloads.capacity import amounts, requests
from inkube.controllers.workloads.claims import is_controlled_by
from inkube.controllers.workloads.devices import SINCE, podclaims

FEATURE = "DRAExtendedResource"
_ANNOTATION = "resource.kubernetes.io/extended-resource-claim"
_IMPLICIT = "deviceclass.resource.kubernetes.io/"
"""The resource of each class, before its name."""
_IN_MEMORY = "<extended-resources>"
"""The name of a claim that is not stored yet, as it is in messages."""


class Requests(NamedTuple):
    """The requests of a claim, and which containers use them (`requestMappings` of a pod)."""

    requests: list[Object]
    mappings: list[Object]


def resources_of(device_class: Object) -> Iterator[str]:
    """Yield the extended resources that a class provides."""
    yield f"{_IMPLICIT}{device_class['metadata']['name']}"
    named = (device_class.get("spec") or {}).get("extendedResourceName")
    if named:
        yield named


def preferred(classes: Iterable[Object]) -> Object | None:
    """Return the class that provides a resource which several classes name: the newest one; of
    equal ones the first by name."""
    ordered = sorted(classes, key=lambda each: each["metadata"]["name"])
    return max(ordered, key=lambda each: each["metadata"]["creationTimestamp"], default=None)


def requested_resources(spec: Object) -> list[str]:
    """Return the resources with a domain that a pod requests, sorted."""
    if not any("/" in name for each in _containers(spec) for name in _requested(each)):
        return []
    return sorted(name for name, value in requests(spec).items() if value and "/" in name)


def is_claim_for(claim: Object, pod: Object) -> bool:
    """Return whether kube-scheduler made a claim for the extended resources of a pod."""
    notes = claim["metadata"].get("annotations") or {}
    return notes.get(_ANNOTATION) == "true" and is_controlled_by(claim, pod)


def backed(pod: Object) -> set[str]:
    """Return the extended resources of a pod for which it has devices."""
    told = (pod.get("status") or {}).get("extendedResourceClaimStatus") or {}
    return {each["resourceName"] for each in told.get("requestMappings") or ()}


def new_claim(pod: Object, bits: int) -> Object:
    """Return a claim for a pod, without requests and not stored. Its uid is made of random bits."""
    meta = pod["metadata"]
    version, kind = SINCE
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {
            "namespace": meta["namespace"],
            "name": _IN_MEMORY,
            "generateName": f"{meta['name']}-extended-resources-",
            "uid": str(uuid.UUID(int=bits, version=4)),
            "annotations": {_ANNOTATION: "true"},
            "ownerReferences": [podclaims.owner_reference(pod)],
        },
        "spec": {"devices": {}},
    }


def is_stored(claim: Object) -> bool:
    """Return whether a claim is more than one in memory."""
    return bool(claim["metadata"]["name"] != _IN_MEMORY)


def to_create(claim: Object) -> Object:
    """Return the object with which a claim in memory is created."""
    meta = {k: v for k, v in claim["metadata"].items() if k not in ("name", "uid")}
    return {**claim, "metadata": meta}


def requests_for(spec: Object, classes: Mapping[str, str]) -> Requests:
    """Return the requests for resources of a pod: `classes` is resource → name of its class
    (createRequestsAndMappings).

    Init containers end before others start. They share one request per resource, for what the
    containers after them do not have anyway.
    """
    result = Requests([], [])
    for resource in sorted(classes):
        _add(result, list(_containers(spec)), _brief(spec), resource, classes[resource])
    result.requests.sort(key=lambda each: str(each["name"]))
    return result


def _containers(spec: Object) -> Iterator[Object]:
    yield from spec.get("initContainers") or ()
    yield from spec.get("containers") or ()


def _brief(spec: Object) -> list[int]:
    """Return the places of the containers that end before others start."""
    early = enumerate(spec.get("initContainers") or ())
    return [place for place, each in early if each.get("restartPolicy") != "Always"]


def _add(
    result: Requests, containers: list[Object], brief: list[int], resource: str, device_class: str
) -> None:
    own: list[Object | None] = [None] * len(containers)
    for place, container in enumerate(containers):
        if place not in brief:
            own[place], mappings = _request(place, container, resource, device_class, ())
            result.mappings.extend(mappings)
    largest: Object | None = None
    shared: set[str] = set()
    late: list[Object] = []
    for place in brief:
        request, mappings = _request(
            place, containers[place], resource, device_class, [each for each in own[place:] if each]
        )
        late += mappings
        if request is not None:
            shared.add(request["name"])
            if largest is None or largest["exactly"]["count"] < request["exactly"]["count"]:
                largest = request
    for each in late:
        if largest is not None and each["requestName"] in shared:
            each["requestName"] = largest["name"]
    result.requests.extend(each for each in (largest, *own) if each is not None)
    result.mappings.extend(late)


def _request(
    place: int, container: Object, resource: str, device_class: str, reusable: Sequence[Object]
) -> tuple[Object | None, list[Object]]:
    """Return the request of a container for what earlier requests do not give it, and the requests
    that it uses."""
    asked = _requested(container)
    count = amounts({resource: asked[resource]})[resource] if resource in asked else 0
    mappings: list[Object] = []
    if not count:
        return None, mappings
    for each in reusable:
        mappings.append(_mapping(container, resource, each["name"]))
        count -= each["exactly"]["count"]
        if count <= 0:
            return None, mappings
    name = f"container-{place}-request-{sorted(asked).index(resource)}"
    mappings.append(_mapping(container, resource, name))
    exactly = {"deviceClassName": device_class, "allocationMode": "ExactCount", "count": count}
    return {"name": name, "exactly": exactly}, mappings


def _mapping(container: Object, resource: str, request: str) -> Object:
    return {"containerName": container["name"], "resourceName": resource, "requestName": request}


def _requested(container: Object) -> Object:
    found: Object = (container.get("resources") or {}).get("requests") or {}
    return found
