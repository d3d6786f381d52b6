"""Copies Endpoints that users write, for a Service without a selector, to EndpointSlices.

Follows pkg/controller/endpointslicemirroring.
"""

from inkube.client import Object
from inkube.controllers.workloads import pods, writes
from inkube.controllers.workloads.cluster import Cluster
from inkube.controllers.workloads.services import addresses, slices
from inkube.controllers.workloads.services.addresses import SERVICES, Port
from inkube.controllers.workloads.services.endpoints import ENDPOINTS
from inkube.controllers.workloads.services.slices import MANAGED_BY, SERVICE_NAME, SLICES
from inkube.kinds import Controller, Key, Watch

NAME = "endpointslice-mirroring-controller"
_US = "endpointslicemirroring-controller.k8s.io"
_SKIP = "endpointslice.kubernetes.io/skip-mirror"
_LEADER = "control-plane.alpha.kubernetes.io/leader"
_NOT_COPIED = (
    "kubectl.kubernetes.io/last-applied-configuration",
    "endpoints.kubernetes.io/last-change-trigger-time",
)
_MAX_ADDRESSES = 1000
"""The maximum number of addresses of one subset that are copied."""


def _is_mirrored(endpoints: Object) -> bool:
    meta = endpoints["metadata"]
    skipped = (meta.get("labels") or {}).get(_SKIP) == "true"
    return not skipped and _LEADER not in (meta.get("annotations") or {})


def _groups(endpoints: Object) -> dict[tuple[str, tuple[Port, ...]], list[Object]]:
    groups: dict[tuple[str, tuple[Port, ...]], list[Object]] = {}
    for subset in endpoints.get("subsets") or ():
        own = tuple(
            Port(
                each.get("name", ""),
                each["port"],
                each.get("protocol", "TCP"),
                each.get("appProtocol", ""),
            )
            for each in subset.get("ports") or ()
        )
        found = [(each, True) for each in subset.get("addresses") or ()]
        found += [(each, False) for each in subset.get("notReadyAddresses") or ()]
        for address, ready in found[:_MAX_ADDRESSES]:
            family = addresses.family(address["ip"])
            made: Object = {"addresses": [address["ip"]], "conditions": {"ready": ready}}
            for member in ("hostname", "nodeName", "targetRef"):
                if address.get(member):
                    made[member] = address[member]
            groups.setdefault((family, own), []).append(made)
    return groups


def add(cluster: Cluster) -> None:
    """Run the controller that copies Endpoints to EndpointSlices."""
    known, services = cluster.informer(ENDPOINTS), cluster.informer(SERVICES)
    client, cache = cluster.client(), cluster.informer(SLICES)
    writer = slices.Writer(client, cache, slices.slice_index(cluster), _US)

    async def reconcile(key: Key) -> None:
        endpoints, service = known.get(key), services.get(key)
        if (
            endpoints is None
            or pods.is_deleting(endpoints)
            or not _is_mirrored(endpoints)
            or service is None
            or service["spec"].get("selector")
        ):
            for each in writer.present(key.namespace, key.name):
                await writes.delete(client, SLICES, each)
            return
        meta = endpoints["metadata"]
        labels = {**(meta.get("labels") or {}), SERVICE_NAME: key.name, MANAGED_BY: _US}
        annotations = {
            name: value
            for name, value in (meta.get("annotations") or {}).items()
            if name not in _NOT_COPIED
        }
        await writer.write(endpoints, slices.in_chunks(_groups(endpoints)), labels, annotations)

    cluster.manager.add(
        Controller(
            NAME,
            writes.patient(reconcile),
            (Watch(ENDPOINTS), Watch(SERVICES), Watch(SLICES, slices.managed_by(_US))),
        )
    )
