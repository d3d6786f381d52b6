"""The cells of services, endpoints, ingresses, policies and nodes."""

from datetime import datetime
from typing import Any

from inkube.schemas.builtin.columns.common import NONE, UNKNOWN, UNSET, age, pairs, selector
from inkube.schemas.objects import Object

_SHOWN_ENDPOINTS = 3


def service(obj: Object, now: datetime) -> list[Any]:
    """Return the cells of a Service (printService)."""
    spec = obj.get("spec") or {}
    ports = ",".join(map(_port, spec.get("ports") or []))
    return [
        spec.get("type", ""),
        spec.get("clusterIP") or NONE,
        _external(obj, spec),
        ports or NONE,
        age(obj, now),
        pairs(spec.get("selector")),
    ]


def _port(port: Object) -> str:
    node = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port', 0)}{node}/{port.get('protocol', 'TCP')}"


def _external(obj: Object, spec: Object) -> str:
    kind, addresses = spec.get("type"), spec.get("externalIPs") or []
    if kind == "ExternalName":
        return str(spec.get("externalName", ""))
    if kind == "LoadBalancer":
        balancer = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []
        found = [one.get("ip") or one.get("hostname", "") for one in balancer]
        return ",".join([*sorted(found), *addresses]) or "<pending>"
    return (",".join(addresses) or NONE) if kind else UNKNOWN


def endpoints(obj: Object, now: datetime) -> list[Any]:
    """printEndpoints: the first three endpoints, and the number of the others."""
    found: list[str] = []
    for subset in obj.get("subsets") or []:
        addresses = [address.get("ip", "") for address in subset.get("addresses") or []]
        ports = subset.get("ports") or []
        if not ports:
            found.extend(addresses)
        for port in ports:
            found.extend(f"{address}:{port.get('port', 0)}" for address in addresses)
    return [_few(found), age(obj, now)]


def _few(values: list[str]) -> str:
    text = ",".join(values[:_SHOWN_ENDPOINTS])
    if len(values) > _SHOWN_ENDPOINTS:
        text += f" + {len(values) - _SHOWN_ENDPOINTS} more..."
    return text or NONE


def endpoint_slice(obj: Object, now: datetime) -> list[Any]:
    """Return the cells of an EndpointSlice (printEndpointSlice)."""
    ports = [str(port.get("port", "")) for port in obj.get("ports") or []]
    found = [
        one for endpoint in obj.get("endpoints") or [] for one in endpoint.get("addresses") or []
    ]
    shown = _few(ports) if ports else UNSET
    return [obj.get("addressType", ""), shown, _few(found) if found else UNSET, age(obj, now)]


def ingress(obj: Object, now: datetime) -> list[Any]:
    """Return the cells of an Ingress (printIngress)."""
    spec = obj.get("spec") or {}
    hosts = [rule["host"] for rule in spec.get("rules") or [] if rule.get("host")]
    shown = ",".join(hosts[:3]) + (f" + {len(hosts) - 3} more..." if len(hosts) > 3 else "")
    balancer = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []
    address = ",".join(sorted({one.get("ip") or one.get("hostname", "") for one in balancer}))
    ports = "80, 443" if spec.get("tls") else "80"
    name = spec.get("ingressClassName") or NONE
    return [name, shown or "*", address, ports, age(obj, now)]


def ingress_class(obj: Object, now: datetime) -> list[Any]:
    """Return the cells of an IngressClass (printIngressClass)."""
    spec = obj.get("spec") or {}
    parameters = spec.get("parameters")
    text = NONE
    if parameters is not None:
        group = f".{parameters['apiGroup']}" if parameters.get("apiGroup") else ""
        text = f"{parameters.get('kind', '')}{group}/{parameters.get('name', '')}"
    return [spec.get("controller", ""), text, age(obj, now)]


def network_policy(obj: Object, now: datetime) -> list[Any]:
    """Return the cells of a NetworkPolicy (printNetworkPolicy)."""
    return [selector((obj.get("spec") or {}).get("podSelector")), age(obj, now)]


def service_cidr(obj: Object, now: datetime) -> list[Any]:
    """Return the cells of a ServiceCIDR (printServiceCIDR)."""
    return [",".join((obj.get("spec") or {}).get("cidrs") or []), age(obj, now)]


def ip_address(obj: Object, now: datetime) -> list[Any]:
    """Return the cells of an IPAddress. Its age has no column (printIPAddress)."""
    parent = (obj.get("spec") or {}).get("parentRef") or {}
    resource = parent.get("resource", "")
    if parent.get("group"):
        resource = f"{resource}.{parent['group']}"
    words = (resource, parent.get("namespace", ""), parent.get("name", ""))
    return ["/".join(word for word in words if word) or NONE, age(obj, now)]


def node(obj: Object, now: datetime) -> list[Any]:
    """Return the cells of a Node (printNode)."""
    status = obj.get("status") or {}
    info = status.get("nodeInfo") or {}
    addresses = status.get("addresses") or []
    return [
        _node_state(obj, status),
        _roles(obj["metadata"].get("labels") or {}),
        age(obj, now),
        info.get("kubeletVersion", ""),
        *(_address(addresses, kind) for kind in ("InternalIP", "ExternalIP")),
        *(
            info.get(key) or UNKNOWN
            for key in ("osImage", "kernelVersion", "containerRuntimeVersion")
        ),
    ]


def _node_state(obj: Object, status: Object) -> str:
    ready = [c for c in status.get("conditions") or [] if c.get("type") == "Ready"]
    words = ["Ready" if c.get("status") == "True" else "NotReady" for c in ready] or ["Unknown"]
    if (obj.get("spec") or {}).get("unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


def _roles(labels: dict[str, str]) -> str:
    prefix = "node-role.kubernetes.io/"
    roles = {key.removeprefix(prefix) for key in labels if key.startswith(prefix)}
    if labels.get("kubernetes.io/role"):
        roles.add(labels["kubernetes.io/role"])
    return ",".join(sorted(roles)) or NONE


def _address(addresses: list[Object], kind: str) -> str:
    found = (one.get("address", "") for one in addresses if one.get("type") == kind)
    return next(found, NONE)
