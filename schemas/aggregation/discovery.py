"""The discovery of an aggregated API server, in the form of aggregated discovery.

Follows kube-aggregator/pkg/apiserver/handler_discovery.go and
apiserver/pkg/endpoints/discovery/aggregated (ConvertGroupVersionIntoToDiscovery).
"""

from typing import Any

from inkube.schemas.objects import Object

ACCEPT = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
    "application/json;q=0.9"
)
"""The Accept header of the aggregator: aggregated discovery, or else plain discovery."""
CURRENT, STALE = "Current", "Stale"
_NO_KIND = {"group": "", "version": "", "kind": ""}


def version_in(document: Any, group: str, version: str) -> Object | None:
    """Return the APIVersionDiscovery of a group's version in an APIGroupDiscoveryList, or None if
    it is missing. Each resource and subresource has a `responseKind`, because clients dereference
    it (kubernetes/kubernetes#118361)."""
    if not isinstance(document, dict) or document.get("kind") != "APIGroupDiscoveryList":
        return None
    for item in _objects(document.get("items")):
        if (item.get("metadata") or {}).get("name") == group:
            for one in _objects(item.get("versions")):
                if one.get("version") == version:
                    return _with_kinds(one)
    return None


def _with_kinds(version: Object) -> Object:
    for resource in _objects(version.get("resources")):
        for each in (resource, *_objects(resource.get("subresources"))):
            each["responseKind"] = each.get("responseKind") or dict(_NO_KIND)
    return version


def from_resource_list(document: Any, group: str, version: str) -> Object | None:
    """Return an APIVersionDiscovery made from an APIResourceList, or None if it is not one."""
    if not isinstance(document, dict) or document.get("kind") != "APIResourceList":
        return None
    found: dict[str, Object] = {}
    for one in _objects(document.get("resources")):
        name, _, subresource = str(one.get("name", "")).partition("/")
        kind = _kind(one, group, version)
        if subresource:
            parent = found.setdefault(name, {"resource": name, "scope": _scope(one)})
            sub = {"subresource": subresource, "responseKind": kind}
            parent.setdefault("subresources", []).append({**sub, "verbs": one.get("verbs") or []})
            continue
        item = found.setdefault(name, {"resource": name})
        item |= {"responseKind": kind, "scope": _scope(one), "verbs": one.get("verbs") or []}
        item["singularResource"] = one.get("singularName", "")
        for member in ("shortNames", "categories"):
            if one.get(member):
                item[member] = one[member]
    return {"version": version, "resources": [found[name] for name in sorted(found)]}


def _scope(resource: Object) -> str:
    return "Namespaced" if resource.get("namespaced") else "Cluster"


def _kind(resource: Object, group: str, version: str) -> Object:
    return {
        "group": resource.get("group") or group,
        "version": resource.get("version") or version,
        "kind": resource.get("kind", ""),
    }


def _objects(value: Any) -> list[Object]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
