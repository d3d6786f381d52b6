"""Scales (autoscaling/v1) of objects, and their replicas: for `/scale` and for webhooks.

Follows apiextensions-apiserver/pkg/registry/customresource/etcd.go (ScaleREST).
"""

from inkube.apiserver.registry.requests import Request
from inkube.apiserver.registry.resource import Resource
from inkube.schemas import status
from inkube.schemas.definitions import Scale
from inkube.schemas.meta import GVK
from inkube.schemas.objects import Object
from inkube.schemas.ownership import scalefields
from inkube.schemas.wordings import read_path

SCALE = GVK("autoscaling", "v1", "Scale")


def to_scale(request: Request, obj: Object, *, with_ownership: bool = False) -> Object:
    """Return the Scale of an object. Raises StatusError 500 if a request reads that of a custom
    resource without replicas.

    `with_ownership` adds the entries of managedFields that concern the replicas.
    """
    paths = paths_of(request)
    replicas = read_path(obj, paths.spec_replicas)
    if request.verb == "get" and has_no_replicas(request, obj):
        why = f'the spec replicas field "{paths.spec_replicas}" does not exist'
        error = status.internal(f"Internal error occurred: {why}")
        error.details = {"causes": [{"message": why}]}
        raise error
    meta = obj["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    scale: Object = {
        "kind": SCALE.kind,
        "apiVersion": SCALE.api_version,
        "metadata": {key: meta[key] for key in kept if key in meta},
        "spec": {"replicas": replicas} if replicas else {},
        "status": {"replicas": read_path(obj, paths.status_replicas) or 0},
    }
    selector = request.resource.wording.scale_selector(request.served.gvr, obj, paths)
    if selector:
        scale["status"]["selector"] = selector
    if with_ownership:
        entries = scalefields.of_scale(
            meta.get("managedFields"), paths_of_versions(request.resource)
        )
        if entries:
            scale["metadata"]["managedFields"] = entries
    return scale


def has_no_replicas(request: Request, obj: Object) -> bool:
    """Return whether a custom resource does not have replicas."""
    needs = request.resource.wording.scale_needs_replicas
    return needs and read_path(obj, paths_of(request).spec_replicas) is None


def paths_of(request: Request) -> Scale:
    """Return the paths of the replicas in the request's version; only for kinds with a scale."""
    paths = request.served.version.scale
    assert paths is not None, "checked by the handler"
    return paths


def paths_of_versions(resource: Resource) -> dict[str, str]:
    """Return the path of the replicas for the apiVersion of each version, served or not ("" without
    replicas)."""
    return {
        served.api_version: served.version.scale.spec_replicas if served.version.scale else ""
        for served in resource.versions.values()
    }


def set_replicas(request: Request, obj: Object, replicas: int) -> bool:
    """Set the object's replicas. Returns whether they changed."""
    *parents, leaf = paths_of(request).spec_replicas.lstrip(".").split(".")
    target = obj
    for part in parents:
        target = target.setdefault(part, {})
    changed: bool = target.get(leaf) != replicas
    target[leaf] = replicas
    return changed
