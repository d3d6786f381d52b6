"""What every server has beside roles: priorities, fairness, registered versions, its own service.

Each function gives the objects of one set with the plurals of their kinds, complete but for uid and
times. Follows pkg/apis/scheduling/helpers.go, apiserver/pkg/apis/flowcontrol/bootstrap,
pkg/controlplane (instance.go, controller/kubernetesservice, controller/defaultservicecidr).
"""

from collections.abc import Iterator
from typing import Any

from inkube.schemas.aggregation import marks, priorities, registrations
from inkube.schemas.builtin import resources
from inkube.schemas.builtin.behaviours import services

Object = dict[str, Any]
Objects = Iterator[tuple[str, Object]]
_FLOW = "flowcontrol.apiserver.k8s.io/v1"
_AUTOUPDATE = {"apf.kubernetes.io/autoupdate-spec": "true"}
_ANYONE = ("system:unauthenticated", "system:authenticated")
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
_LEVELS = {
    "system": (30, 33, 64, 6),
    "node-high": (40, 25, 64, 6),
    "leader-election": (10, 0, 16, 4),
    "workload-high": (40, 50, 128, 6),
    "workload-low": (100, 90, 128, 6),
    "global-default": (20, 50, 128, 6),
}
"""Name → shares, lendable percent, queues, hand size."""


def priority_classes() -> Objects:
    """The two that system pods name."""
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
    """Flow schemas and priority levels, the mandatory and the suggested ones."""
    for name, spec in _levels():
        yield (
            "prioritylevelconfigurations",
            {**_flow_object("PriorityLevelConfiguration", name, spec), "status": {}},
        )
    for name, level, precedence, method, rules in _schemas():
        spec = {"priorityLevelConfiguration": {"name": level}, "matchingPrecedence": precedence}
        if method:
            spec["distinguisherMethod"] = {"type": method}
        found = {
            "type": "Dangling",
            "status": "False",
            "lastTransitionTime": now,
            "reason": "Found",
            "message": (
                "This FlowSchema references the PriorityLevelConfiguration object named "
                f'"{level}" and it exists'
            ),
        }
        schema = _flow_object("FlowSchema", name, {**spec, "rules": rules})
        yield "flowschemas", {**schema, "status": {"conditions": [found]}}


def _flow_object(kind: str, name: str, spec: Object) -> Object:
    meta = {"name": name, "generation": 1, "annotations": dict(_AUTOUPDATE)}
    return {"apiVersion": _FLOW, "kind": kind, "metadata": meta, "spec": spec}


def _levels() -> Iterator[tuple[str, Object]]:
    none = {"nominalConcurrencyShares": 0, "lendablePercent": 0}
    yield "exempt", {"type": "Exempt", "exempt": none}
    rejects = {"nominalConcurrencyShares": 5, "limitResponse": {"type": "Reject"}}
    yield "catch-all", {"type": "Limited", "limited": {**rejects, "lendablePercent": 0}}
    for name, (shares, lendable, queues, hand) in _LEVELS.items():
        queuing = {"queues": queues, "handSize": hand, "queueLengthLimit": 50}
        limited = {
            "nominalConcurrencyShares": shares,
            "limitResponse": {"type": "Queue", "queuing": queuing},
            "lendablePercent": lendable,
        }
        yield name, {"type": "Limited", "limited": limited}


def _schemas() -> Iterator[tuple[str, str, int, str, list[Object]]]:
    """Name, level, precedence, what tells flows apart, rules."""
    by_user, by_namespace = "ByUser", "ByNamespace"
    controllers, scheduler = (
        _user(f"system:kube-{n}") for n in ("controller-manager", "scheduler")
    )
    accounts = {
        "kind": "ServiceAccount",
        "serviceAccount": {"namespace": "kube-system", "name": "*"},
    }
    nodes = _group("system:nodes")
    every = _rules(_group(_ANYONE[0]), _group(_ANYONE[1]))
    probes = {
        "subjects": [_group(_ANYONE[0]), _group(_ANYONE[1])],
        "nonResourceRules": [
            {"verbs": ["get"], "nonResourceURLs": ["/healthz", "/readyz", "/livez"]}
        ],
    }
    leases = _resource_rule(["get", "create", "update"], "coordination.k8s.io", ["leases"], ["*"])
    leading = [controllers, scheduler, accounts]
    endpoints = [
        _resource_rule(["get", "create", "update"], "", ["endpoints"], ["*"]),
        _resource_rule(["get", "create", "update"], "discovery.k8s.io", ["endpointslices"], ["*"]),
    ]
    statuses = [
        _resource_rule(["update", "patch"], "", ["nodes", "nodes/status"], ["*"], cluster=True),
        _resource_rule(["*"], "coordination.k8s.io", ["leases"], ["kube-node-lease"]),
    ]
    yield "exempt", "exempt", 1, "", [_rules(_group("system:masters"))]
    yield "probes", "exempt", 2, "", [probes]
    elects = {"subjects": leading, "resourceRules": [leases]}
    yield "system-leader-election", "leader-election", 100, by_user, [elects]
    endpointing = {
        "subjects": [controllers, _service_account("endpoint-controller"),
                     _service_account("endpointslicemirroring-controller")],
        "resourceRules": endpoints,
    }  # fmt: skip
    yield "endpoint-controller", "workload-high", 150, by_user, [endpointing]
    elects = {"subjects": [accounts], "resourceRules": [leases]}
    yield "workload-leader-election", "leader-election", 200, by_user, [elects]
    reports = {"subjects": [nodes], "resourceRules": statuses}
    yield "system-node-high", "node-high", 400, by_user, [reports]
    yield "system-nodes", "system", 500, by_user, [_rules(nodes)]
    yield "kube-controller-manager", "workload-high", 800, by_namespace, [_rules(controllers)]
    yield "kube-scheduler", "workload-high", 800, by_namespace, [_rules(scheduler)]
    yield "kube-system-service-accounts", "workload-high", 900, by_namespace, [_rules(accounts)]
    own = _rules(_group("system:serviceaccounts"))
    yield "service-accounts", "workload-low", 9000, by_user, [own]
    yield "global-default", "global-default", 9900, by_user, [every]
    yield "catch-all", "catch-all", 10000, by_user, [every]


def _user(name: str) -> Object:
    return {"kind": "User", "user": {"name": name}}


def _group(name: str) -> Object:
    return {"kind": "Group", "group": {"name": name}}


def _service_account(name: str) -> Object:
    account = {"namespace": "kube-system", "name": name}
    return {"kind": "ServiceAccount", "serviceAccount": account}


def _resource_rule(
    verbs: list[str],
    group: str,
    plurals: list[str],
    namespaces: list[str],
    *,
    cluster: bool = False,
) -> Object:
    rule: Object = {"verbs": verbs, "apiGroups": [group], "resources": plurals}
    if cluster:
        rule["clusterScope"] = True
    return {**rule, "namespaces": namespaces}


def _rules(*subjects: Object) -> Object:
    """Everything these ask for."""
    everywhere = _resource_rule(["*"], "*", ["*"], ["*"], cluster=True)
    paths = {"verbs": ["*"], "nonResourceURLs": ["*"]}
    return {
        "subjects": [*subjects],
        "resourceRules": [everywhere],
        "nonResourceRules": [paths],
    }


def registered_versions(now: str) -> Objects:
    """An APIService for every built-in group and version."""
    known = {(one.group, version) for one in resources.read() for version in one.versions}
    for group, version in sorted(known | {("apiextensions.k8s.io", "v1")}):
        if group == "apiregistration.k8s.io":
            continue
        spec: Object = {"group": group} if group else {}
        spec |= {
            "version": version,
            "groupPriorityMinimum": priorities.GROUPS[group],
            "versionPriority": priorities.of_version(group, version),
        }
        labels = {marks.MANAGED: "onstart"}
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


def own_service(now: str, address: str, port: int, cidr: str) -> Objects:
    """The service `kubernetes`, where it leads, the range its address is from."""
    own = services.ServiceRange(cidr).first
    named = {"name": "kubernetes", "namespace": "default"}
    family = "IPv6" if ":" in address else "IPv4"
    labels = {"component": "apiserver", "provider": "kubernetes"}
    https = {"name": "https", "protocol": "TCP", "port": 443, "targetPort": port}
    yield (
        "services",
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {**named, "labels": labels},
            "spec": {
                "ports": [https],
                "clusterIP": own,
                "clusterIPs": [own],
                "type": "ClusterIP",
                "sessionAffinity": "None",
                "ipFamilies": ["IPv4"],
                "ipFamilyPolicy": "SingleStack",
                "internalTrafficPolicy": "Cluster",
            },
            "status": {"loadBalancer": {}},
        },
    )
    there = {"name": "https", "port": port, "protocol": "TCP"}
    skipped = {"endpointslice.kubernetes.io/skip-mirror": "true"}
    yield (
        "endpoints",
        {
            "apiVersion": "v1",
            "kind": "Endpoints",
            "metadata": {**named, "labels": skipped},
            "subsets": [{"addresses": [{"ip": address}], "ports": [there]}],
        },
    )
    yield (
        "endpointslices",
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {
                **named,
                "generation": 1,
                "labels": {"kubernetes.io/service-name": "kubernetes"},
            },
            "addressType": family,
            "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
            "ports": [there],
        },
    )
    ready = {
        "type": "Ready",
        "status": "True",
        "lastTransitionTime": now,
        "reason": "",
        "message": "Kubernetes default Service CIDR is ready",
    }
    yield (
        "servicecidrs",
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "ServiceCIDR",
            "metadata": {"name": "kubernetes"},
            "spec": {"cidrs": [cidr]},
            "status": {"conditions": [ready]},
        },
    )
    owner = {"group": "", "resource": "services", **named}
    managed = {
        "ipaddress.kubernetes.io/ip-family": "IPv4",
        "ipaddress.kubernetes.io/managed-by": "ipallocator",
    }
    yield (
        "ipaddresses",
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "IPAddress",
            "metadata": {"name": own, "generation": 1, "labels": managed},
            "spec": {"parentRef": owner},
        },
    )


def config_maps(now: str, authority: str) -> Objects:
    """Whom extension servers may trust, and since when tokens of old are tracked."""
    trusted = {"client-ca-file": authority} if authority else {}
    yield _config_map("extension-apiserver-authentication", trusted)
    tracked = {"since": now.partition("T")[0]}
    yield _config_map("kube-apiserver-legacy-service-account-token-tracking", tracked)


def _config_map(name: str, data: dict[str, str]) -> tuple[str, Object]:
    meta = {"name": name, "namespace": "kube-system"}
    made: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}
    return "configmaps", {**made, "data": data} if data else made
