"""The addresses and ports of the pods that a Service selects. Pure functions.

Follows endpointslice/utils.go and pkg/controller/util/endpoint.
"""

from collections.abc import Iterator
from typing import NamedTuple

from inkube.client import Object
from inkube.controllers.workloads import pods
from inkube.kinds import Change, Informer, Key

SERVICES = "v1/services"
HEADLESS = "service.kubernetes.io/headless"
ZONE = "topology.kubernetes.io/zone"


class Port(NamedTuple):
    """A port of the addresses in Endpoints and EndpointSlices."""

    name: str
    number: int
    protocol: str
    app_protocol: str = ""

    def dump(self, *, named: bool) -> Object:
        """Return the port as JSON. With `named`, it contains an empty name, too."""
        made: Object = {"port": self.number, "protocol": self.protocol}
        if self.name or named:
            made["name"] = self.name
        if self.app_protocol:
            made["appProtocol"] = self.app_protocol
        return made


def is_selected(service: Object, pod: Object) -> bool:
    """Return whether the Service's selector matches the pod."""
    selector = (service.get("spec") or {}).get("selector") or {}
    labels = pod["metadata"].get("labels") or {}
    return bool(selector) and selector.items() <= labels.items()


def is_headless(service: Object) -> bool:
    """Return whether the Service is headless: it has no cluster IP."""
    return bool(service["spec"].get("clusterIP") == "None")


def has_managed_endpoints(service: Object) -> bool:
    """Return whether controllers write the Service's addresses: it has a selector, and its type is
    not ExternalName."""
    spec = service["spec"]
    return bool(spec.get("selector")) and spec.get("type") != "ExternalName"


def selected_pods(service: Object, candidates: Informer) -> list[Object]:
    """Return the selected pods that have an address and are not terminal, sorted by name."""
    found = [
        pod
        for pod in candidates.items(service["metadata"]["namespace"])
        if is_selected(service, pod) and not pods.is_terminal(pod) and addresses(pod)
    ]
    return sorted(found, key=lambda pod: str(pod["metadata"]["name"]))


def addresses(pod: Object) -> list[str]:
    """Return all IPs of a pod."""
    status = pod.get("status") or {}
    many = [each["ip"] for each in status.get("podIPs") or () if each.get("ip")]
    return many or ([status["podIP"]] if status.get("podIP") else [])


def family(address: str) -> str:
    """Return the family of an IP address: `IPv4` or `IPv6`."""
    return "IPv6" if ":" in address else "IPv4"


def families(service: Object) -> list[str]:
    """Return the families of a Service's addresses."""
    found: list[str] = service["spec"].get("ipFamilies") or ["IPv4"]
    return found


def ports(service: Object, pod: Object) -> tuple[Port, ...]:
    """Return the Service's ports on this pod, without named ports that the pod lacks (FindPort)."""
    found = []
    for each in service["spec"].get("ports") or ():
        protocol = each.get("protocol", "TCP")
        number = _number(each.get("targetPort", each["port"]), protocol, pod)
        if number:
            app = each.get("appProtocol", "")
            found.append(Port(each.get("name", ""), number, protocol, app))
    return tuple(found)


def _number(target: int | str, protocol: str, pod: Object) -> int:
    if isinstance(target, int):
        return target
    for member in ("containers", "initContainers"):
        for container in pod["spec"].get(member) or ():
            if member == "initContainers" and container.get("restartPolicy") != "Always":
                continue
            for port in container.get("ports") or ():
                if (port.get("name"), port.get("protocol", "TCP")) == (target, protocol):
                    return int(port["containerPort"])
    return 0


def hostname(service: Object, pod: Object) -> str:
    """Return the pod's hostname in the Service's domain, or "" if the Service is
    not its subdomain."""
    spec = pod["spec"]
    if spec.get("hostname") and spec.get("subdomain") == service["metadata"]["name"]:
        return str(spec["hostname"])
    return ""


def target(pod: Object) -> Object:
    """Return the reference of an address to its pod."""
    meta = pod["metadata"]
    return {"kind": "Pod", "namespace": meta["namespace"], "name": meta["name"], "uid": meta["uid"]}


def of_pod(change: Change, services: Informer) -> Iterator[Key]:
    """Yield the Services that select a pod, before or after a change of a relevant part."""
    old, new = change.old, change.new
    if old is not None and new is not None and _is_alike(old, new):
        return
    for service in services.items(change.object["metadata"]["namespace"]):
        if any(each is not None and is_selected(service, each) for each in (old, new)):
            yield Key.of(service)


def _is_alike(old: Object, new: Object) -> bool:
    """Return whether all parts of a pod that matter to Services are the same."""
    return (
        old["metadata"].get("labels") == new["metadata"].get("labels")
        and pods.is_deleting(old) == pods.is_deleting(new)
        and pods.is_terminal(old) == pods.is_terminal(new)
        and pods.is_ready(old) == pods.is_ready(new)
        and addresses(old) == addresses(new)
        and old["spec"].get("nodeName") == new["spec"].get("nodeName")
    )
