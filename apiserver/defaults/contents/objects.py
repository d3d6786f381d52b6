"""Default objects other than roles: priorities, flow control, registered versions, own service.

Each function yields the objects of one set with the plurals of their kinds. Only the uid and the
times are missing. Follows pkg/apis/scheduling/helpers.go, apiserver/pkg/apis/flowcontrol/bootstrap,
pkg/controlplane (instance.go, controller/kubernetesservice, controller/defaultservicecidr).
"""

import copy
from collections.abc import Iterator, Sequence
from datetime import datetime

from inkube.controllers.core import identity as leases
from inkube.controllers.core import serviceips
from inkube.schemas import releases
from inkube.schemas.aggregation import registrations
from inkube.schemas.builtin import DEFAULT_RANGES, ServiceRange, flowcontrol, ranges_of, resources
from inkube.schemas.objects import Object

Objects = Iterator[tuple[str, Object]]
_KUBERNETES_SERVICE = {"name": "kubernetes", "namespace": "default"}
_FLOW = "flowcontrol.apiserver.k8s.io/v1"
_AUTOUPDATE = {"apf.kubernetes.io/autoupdate-spec": "true"}
_PRIORITIES = {
    "system-node-critical": (
        2000001000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
    "system-cluster-critical": (
        2000000000,
        (
            "Used for system critical pods that must run in the cluster, but can be moved to "
            "another node if necessary."
        ),
    ),
}


def priority_classes() -> Objects:
    """Yield the two classes that system pods use."""
    for name, (value, description) in _PRIORITIES.items():
        yield (
            "priorityclasses",
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": name, "generation": 1},
                "value": value,
                "description": description,
                "preemptionPolicy": "PreemptLowerPriority",
            },
        )


def flow_control(now: str) -> Objects:
    """Yield the mandatory and the suggested priority levels and flow schemas."""
    specs = copy.deepcopy(flowcontrol.specs())
    for name, spec in specs["prioritylevelconfigurations"].items():
        level = _flow_object("PriorityLevelConfiguration", name, spec)
        yield "prioritylevelconfigurations", {**level, "status": {}}
    for name, spec in specs["flowschemas"].items():
        result = {
            "type": "Dangling",
            "status": "False",
            "lastTransitionTime": now,
            "reason": "Found",
            "message": (
                "This FlowSchema references the PriorityLevelConfiguration object named "
                f'"{spec["priorityLevelConfiguration"]["name"]}" and it exists'
            ),
        }
        schema = _flow_object("FlowSchema", name, spec)
        yield "flowschemas", {**schema, "status": {"conditions": [result]}}


def _flow_object(kind: str, name: str, spec: Object) -> Object:
    meta = {"name": name, "generation": 1, "annotations": dict(_AUTOUPDATE)}
    return {"apiVersion": _FLOW, "kind": kind, "metadata": meta, "spec": spec}


def registered_versions(now: str, minor: int = releases.NEWEST.minor) -> Objects:
    """Yield an APIService for every built-in group and version of a minor."""
    served = {(one.group, version) for one in resources.read(minor) for version in one.versions}
    for group, version in sorted(served | {("apiextensions.k8s.io", "v1")}):
        if group == "apiregistration.k8s.io":
            continue
        spec: Object = {"group": group} if group else {}
        spec |= {
            "version": version,
            "groupPriorityMinimum": registrations.GROUP_PRIORITIES[group],
            "versionPriority": registrations.version_priority(group, version),
        }
        labels = {registrations.MANAGED: "onstart"}
        yield (
            "apiservices",
            {
                "apiVersion": "apiregistration.k8s.io/v1",
                "kind": "APIService",
                "metadata": {"name": f"{version}.{group}", "labels": labels},
                "spec": spec,
                "status": {"conditions": [registrations.local(now)]},
            },
        )


def identity(now: datetime, uid: str) -> Objects:
    """Yield the Lease that identifies this server."""
    yield "leases", leases.lease(now, uid)


def kubernetes_service(address: str, port: int, cidrs: str) -> Objects:
    """Yield the service `kubernetes` and its endpoints."""
    endpoint_port = {"name": "https", "port": port, "protocol": "TCP"}
    yield "services", _service(ranges_of(cidrs)[0], port)
    yield "endpoints", _endpoints(address, endpoint_port)
    yield "endpointslices", _endpoint_slice(address, endpoint_port)


def addresses(now: str, cidrs: str) -> Objects:
    """Yield the ranges of addresses of services, and the address of the service `kubernetes`."""
    found = ranges_of(cidrs)
    yield "servicecidrs", _service_ranges(now, found)
    yield "ipaddresses", serviceips.address(found[0].first, _KUBERNETES_SERVICE)


def _service(cluster_range: ServiceRange, port: int) -> Object:
    labels = {"component": "apiserver", "provider": "kubernetes"}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {**_KUBERNETES_SERVICE, "labels": labels},
        "spec": {
            "ports": [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": port}],
            "clusterIP": cluster_range.first,
            "clusterIPs": [cluster_range.first],
            "type": "ClusterIP",
            "sessionAffinity": "None",
            "ipFamilies": [cluster_range.family],
            "ipFamilyPolicy": "SingleStack",
            "internalTrafficPolicy": "Cluster",
        },
        "status": {"loadBalancer": {}},
    }


def _endpoints(address: str, port: Object) -> Object:
    labels = {"endpointslice.kubernetes.io/skip-mirror": "true"}
    return {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {**_KUBERNETES_SERVICE, "labels": labels},
        "subsets": [{"addresses": [{"ip": address}], "ports": [port]}],
    }


def _endpoint_slice(address: str, port: Object) -> Object:
    labels = {"kubernetes.io/service-name": "kubernetes"}
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {**_KUBERNETES_SERVICE, "generation": 1, "labels": labels},
        "addressType": "IPv6" if ":" in address else "IPv4",
        "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
        "ports": [port],
    }


def _service_ranges(now: str, ranges: Sequence[ServiceRange]) -> Object:
    ready = {
        "type": "Ready",
        "status": "True",
        "lastTransitionTime": now,
        "reason": "",
        "message": "Kubernetes default Service CIDR is ready",
    }
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "ServiceCIDR",
        "metadata": {"name": DEFAULT_RANGES},
        "spec": {"cidrs": [str(each.network) for each in ranges]},
        "status": {"conditions": [ready]},
    }


def config_maps(now: str) -> Objects:
    """Yield the authorities for extension servers, before they are known, and the date since which
    uses of legacy tokens are recorded."""
    yield _config_map("extension-apiserver-authentication", {})
    tracking = {"since": now.partition("T")[0]}
    yield _config_map("kube-apiserver-legacy-service-account-token-tracking", tracking)


def _config_map(name: str, data: dict[str, str]) -> tuple[str, Object]:
    meta = {"name": name, "namespace": "kube-system"}
    config_map: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}
    return "configmaps", {**config_map, "data": data} if data else config_map
