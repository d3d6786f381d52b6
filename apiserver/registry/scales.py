"""Objects as autoscaling/v1 Scales, and replicas carried back: for `/scale` and for webhooks.

Follows apiextensions-apiserver/pkg/registry/customresource/etcd.go (ScaleREST).
"""

from typing import Any

from inkube.apiserver.registry.calls import Call
from inkube.apiserver.registry.resources import Resource
from inkube.schemas import status
from inkube.schemas.definitions import Scale
from inkube.schemas.meta import GVK
from inkube.schemas.ownership import scalefields
from inkube.schemas.selectors import format_selector

Object = dict[str, Any]
SCALE = GVK("autoscaling", "v1", "Scale")


def to_scale(call: Call, obj: Object, *, lenient: bool = False, owned: bool = False) -> Object:
    """The Scale of an object. Raises StatusError 500 when it has no replicas, unless `lenient`.

    `owned` adds the entries of managedFields that concern the replicas.
    """
    paths = paths_of(call)
    replicas = _read(obj, paths.spec_replicas)
    if replicas is None and not call.resource.builtin and not lenient:
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
        "status": {"replicas": _read(obj, paths.status_replicas) or 0},
    }
    selector = _selector(call, obj, paths)
    if selector:
        scale["status"]["selector"] = selector
    if owned:
        entries = scalefields.of_scale(meta.get("managedFields"), paths_of_versions(call.resource))
        if entries:
            scale["metadata"]["managedFields"] = entries
    return scale


def _selector(call: Call, obj: Object, paths: Scale) -> str:
    if call.resource.builtin:
        selector = (obj.get("spec") or {}).get("selector") or {}
        if call.resource.plural == "replicationcontrollers":
            selector = {"matchLabels": selector}
        return format_selector(selector)
    found = _read(obj, paths.label_selector) if paths.label_selector else None
    return found if isinstance(found, str) else ""


def paths_of(call: Call) -> Scale:
    """Where the version of the call keeps its numbers; for kinds with a scale only."""
    paths = call.served.version.scale
    assert paths is not None, "checked by the handler"
    return paths


def paths_of_versions(resource: Resource) -> dict[str, str]:
    """Where each served version keeps its replicas."""
    return {
        served.api_version: served.version.scale.spec_replicas if served.version.scale else ""
        for served in resource.versions.values()
        if served.version.served
    }


def set_replicas(call: Call, obj: Object, replicas: int) -> bool:
    """Carry a Scale's replicas into the object; whether they were others."""
    *parents, leaf = paths_of(call).spec_replicas.lstrip(".").split(".")
    target = obj
    for part in parents:
        target = target.setdefault(part, {})
    changed: bool = target.get(leaf) != replicas
    target[leaf] = replicas
    return changed


def _read(obj: Object, path: str) -> Any:
    value: Any = obj
    for part in path.lstrip(".").split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value
