"""The Endpoints of a Service: the older form of its addresses, in one object.

Follows pkg/controller/endpoint.
"""

from inkube.client import Object
from inkube.controllers.workloads import pods, writes
from inkube.controllers.workloads.cluster import PODS, Cluster
from inkube.controllers.workloads.services import addresses
from inkube.controllers.workloads.services.addresses import HEADLESS, SERVICES, Port
from inkube.kinds import Controller, Key, Watch

NAME = "endpoints-controller"
ENDPOINTS = "v1/endpoints"
MANAGED_BY = "endpoints.kubernetes.io/managed-by"
_US = "endpoint-controller"


def subsets(service: Object, selected_pods: list[Object]) -> list[Object]:
    """Return the addresses of the pods, grouped by ports (RepackSubsets)."""
    by_port: dict[Port | None, tuple[list[Object], list[Object]]] = {}
    publishes = service["spec"].get("publishNotReadyAddresses")
    for pod in selected_pods:
        if pods.is_deleting(pod) and not publishes:
            continue
        address = _address(service, pod)
        if address is None:
            continue
        own: tuple[Port | None, ...] = addresses.ports(service, pod)
        if not service["spec"].get("ports"):
            own = (None,)
        for port in own:
            ready, unready = by_port.setdefault(port, ([], []))
            (ready if publishes or pods.is_ready(pod) else unready).append(address)
    groups: dict[str, tuple[list[Port], list[Object], list[Object]]] = {}
    for port, (ready, unready) in by_port.items():
        key = repr(([each["ip"] for each in ready], [each["ip"] for each in unready]))
        ports, _, _ = groups.setdefault(key, ([], ready, unready))
        if port is not None:
            ports.append(port)
    made = []
    for ports, ready, unready in groups.values():
        subset: Object = {}
        for member, members in (("addresses", ready), ("notReadyAddresses", unready)):
            if members:
                subset[member] = sorted(members, key=lambda each: _sort_key(each["ip"]))
        if ports:
            subset["ports"] = [port.dump(named=False) for port in ports]
        made.append(subset)
    return made


def _sort_key(ip: str) -> tuple[int, ...] | tuple[str]:
    return tuple(map(int, ip.split("."))) if ":" not in ip else (ip,)


def _address(service: Object, pod: Object) -> Object | None:
    wanted = addresses.families(service)[0]
    ip = next((each for each in addresses.addresses(pod) if addresses.family(each) == wanted), "")
    if not ip:
        return None
    made: Object = {"ip": ip, "targetRef": addresses.target(pod)}
    if pod["spec"].get("nodeName"):
        made["nodeName"] = pod["spec"]["nodeName"]
    name = addresses.hostname(service, pod)
    return {**made, "hostname": name} if name else made


def add(cluster: Cluster) -> None:
    """Run the controller that writes the Endpoints of Services."""
    client = cluster.client()
    services, known = cluster.informer(SERVICES), cluster.informer(ENDPOINTS)
    candidates = cluster.informer(PODS)

    async def reconcile(key: Key) -> None:
        service, present = services.get(key), known.get(key)
        if service is None:
            labels = ((present or {}).get("metadata") or {}).get("labels") or {}
            if present is not None and labels.get(MANAGED_BY) == _US:
                await writes.delete(client, ENDPOINTS, present)
            return
        if not addresses.has_managed_endpoints(service) or pods.is_deleting(service):
            return
        labels = {**(service["metadata"].get("labels") or {}), MANAGED_BY: _US}
        if addresses.is_headless(service):
            labels[HEADLESS] = ""
        wanted = subsets(service, addresses.selected_pods(service, candidates))
        if present is None:
            metadata = {"name": key.name, "namespace": key.namespace, "labels": labels}
            body: Object = {"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata}
            await client.create({**body, **({"subsets": wanted} if wanted else {})})
            return
        if (present.get("subsets") or []) == wanted and present["metadata"].get("labels") == labels:
            return
        body = {**present, "metadata": {**present["metadata"], "labels": labels}}
        body.pop("subsets", None)
        await writes.update(client, {**body, **({"subsets": wanted} if wanted else {})})

    cluster.manager.add(
        Controller(
            NAME,
            writes.patient(reconcile),
            (
                Watch(SERVICES),
                Watch(PODS, lambda change: addresses.of_pod(change, services)),
                Watch(ENDPOINTS),
            ),
            sums_up=True,
        )
    )
