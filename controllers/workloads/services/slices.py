"""The EndpointSlices of a Service, with at most 100 addresses with the same ports in each.

Follows endpointslice/reconciler.go.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator

from inkube.client import Client, Object
from inkube.controllers.workloads import pods, writes
from inkube.controllers.workloads.cluster import NODES, PODS, Cluster
from inkube.controllers.workloads.services import addresses
from inkube.controllers.workloads.services.addresses import HEADLESS, SERVICES, ZONE, Port
from inkube.formats import controller_reference
from inkube.kinds import Change, Controller, Index, Informer, Key, Watch

NAME = "endpointslice-controller"
SLICES = "discovery.k8s.io/v1/endpointslices"
SERVICE_NAME = "kubernetes.io/service-name"
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
_US = "endpointslice-controller.k8s.io"
_MAX_ENDPOINTS = 100
DesiredSlice = tuple[str, tuple[Port, ...], list[Object]]
"""A wanted slice: the family of its addresses, their ports, and the endpoints."""


def slice_index(cluster: Cluster) -> Index:
    """Return an index of slices by namespace, Service and manager (see `index_value`)."""
    return cluster.informer(SLICES).index(_index_values)


def _index_values(obj: Object) -> Iterable[str]:
    meta = obj["metadata"]
    labels = meta.get("labels") or {}
    return (
        index_value(meta["namespace"], labels.get(SERVICE_NAME, ""), labels.get(MANAGED_BY, "")),
    )


def managed_by(manager: str) -> Callable[[Change], Iterator[Key]]:
    """Return a function from a change of a slice of this manager to the key of the
    slice's Service."""

    def of_slice(change: Change) -> Iterator[Key]:
        labels = change.object["metadata"].get("labels") or {}
        if labels.get(MANAGED_BY) == manager and labels.get(SERVICE_NAME):
            yield Key(change.object["metadata"]["namespace"], labels[SERVICE_NAME])

    return of_slice


def index_value(namespace: str, service: str, manager: str) -> str:
    """Return the value in the index for the slices of a Service by a manager."""
    return f"{namespace}/{service}/{manager}"


class Writer:
    """Writes the slices of an owner with few requests."""

    def __init__(self, client: Client, cache: Informer, index: Index, manager: str) -> None:
        self._client = client
        self._cache = cache
        self._index = index
        self._manager = manager

    def present(self, namespace: str, service: str) -> list[Object]:
        """Return the manager's slices of a Service that are not in deletion."""
        keys = self._index.keys(index_value(namespace, service, self._manager))
        found = (self._cache.get(key) for key in keys)
        return [each for each in found if each is not None and not pods.is_deleting(each)]

    async def write(
        self,
        owner: Object,
        desired: list[DesiredSlice],
        labels: dict[str, str],
        annotations: Object,
    ) -> None:
        """Change, create and delete slices. Reuses slices of the same family, first those with the
        same ports."""
        namespace, name = owner["metadata"]["namespace"], owner["metadata"]["name"]
        left = self.present(namespace, name)
        changes = []
        for family, ports, endpoints in desired:
            body: Object = {
                "addressType": family,
                "endpoints": endpoints,
                "ports": [port.dump(named=True) for port in ports],
            }
            fitting = [each for each in left if each["addressType"] == family]
            fitting.sort(key=lambda each: (each.get("ports") or []) != body["ports"])
            if fitting:
                left.remove(fitting[0])
                changes.append(self._change(fitting[0], body, labels, annotations))
            else:
                changes.append(self._create(owner, body, labels, annotations))
        changes += [self._delete(each) for each in left]
        await asyncio.gather(*changes)
        await self._cache.caught_up()

    async def _change(
        self, present: Object, body: Object, labels: dict[str, str], annotations: Object
    ) -> None:
        meta = present["metadata"]
        same = all((present.get(member) or []) == body[member] for member in ("endpoints", "ports"))
        if same and meta.get("labels") == labels and (meta.get("annotations") or {}) == annotations:
            return
        metadata = {**meta, "labels": labels, "annotations": annotations}
        await writes.update(self._client, {**present, **body, "metadata": metadata})

    async def _create(
        self, owner: Object, body: Object, labels: dict[str, str], annotations: Object
    ) -> None:
        metadata: Object = {
            "generateName": f"{owner['metadata']['name']}-",
            "namespace": owner["metadata"]["namespace"],
            "labels": labels,
            "ownerReferences": [controller_reference(owner)],
        }
        if annotations:
            metadata["annotations"] = annotations
        head = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice"}
        await self._client.create({**head, "metadata": metadata, **body})

    async def _delete(self, present: Object) -> None:
        await writes.delete(self._client, SLICES, present)


def in_chunks(groups: dict[tuple[str, tuple[Port, ...]], list[Object]]) -> list[DesiredSlice]:
    """Split the endpoints of each family and ports into slices of at most `_MAX_ENDPOINTS`."""
    return [
        (family, ports, endpoints[start : start + _MAX_ENDPOINTS])
        for (family, ports), endpoints in groups.items()
        for start in range(0, len(endpoints), _MAX_ENDPOINTS)
    ]


def endpoint(service: Object, pod: Object, address: str, node: Object | None) -> Object:
    """Return the endpoint for an address of a pod (podToEndpoint)."""
    serving, terminating = pods.is_ready(pod), pods.is_deleting(pod)
    publishes = bool(service["spec"].get("publishNotReadyAddresses"))
    made: Object = {
        "addresses": [address],
        "conditions": {
            "ready": publishes or (serving and not terminating),
            "serving": serving,
            "terminating": terminating,
        },
        "targetRef": addresses.target(pod),
    }
    name = pod["spec"].get("nodeName")
    if name:
        made["nodeName"] = name
    zone = ((node or {}).get("metadata") or {}).get("labels", {}).get(ZONE)
    if zone:
        made["zone"] = zone
    own = addresses.hostname(service, pod)
    return {**made, "hostname": own} if own else made


def add(cluster: Cluster) -> None:
    """Run the controller that writes the EndpointSlices of Services."""
    services, candidates = cluster.informer(SERVICES), cluster.informer(PODS)
    nodes, cache = cluster.informer(NODES), cluster.informer(SLICES)
    writer = Writer(cluster.client(), cache, slice_index(cluster), _US)

    def desired_slices(service: Object) -> list[DesiredSlice]:
        groups: dict[tuple[str, tuple[Port, ...]], list[Object]] = {}
        for pod in addresses.selected_pods(service, candidates):
            own = addresses.ports(service, pod)
            node = nodes.get(Key("", pod["spec"].get("nodeName") or ""))
            for address in addresses.addresses(pod):
                family = addresses.family(address)
                if family in addresses.families(service):
                    made = endpoint(service, pod, address, node)
                    groups.setdefault((family, own), []).append(made)
        found = in_chunks(groups)
        present = {family for family, _, _ in found}
        found += [(each, (), []) for each in addresses.families(service) if each not in present]
        return found

    async def reconcile(key: Key) -> None:
        service = services.get(key)
        if (
            service is None
            or pods.is_deleting(service)
            or not addresses.has_managed_endpoints(service)
        ):
            return  # the garbage collector deletes the slices of a deleted Service
        labels = {
            **(service["metadata"].get("labels") or {}),
            SERVICE_NAME: key.name,
            MANAGED_BY: _US,
        }
        if addresses.is_headless(service):
            labels[HEADLESS] = ""
        await writer.write(service, desired_slices(service), labels, {})

    cluster.manager.add(
        Controller(
            NAME,
            writes.patient(reconcile),
            (
                Watch(SERVICES),
                Watch(PODS, lambda change: addresses.of_pod(change, services)),
                Watch(NODES, lambda change: ()),
                Watch(SLICES, managed_by(_US)),
            ),
            sums_up=True,
        )
    )
