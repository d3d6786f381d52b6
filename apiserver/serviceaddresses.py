"""Addresses at which a server outside the cluster network reaches a Service.

The options of the server have precedence, then the Service's EndpointSlices, then its Endpoints.
For an ExternalName, the address is that name. The service `kubernetes` is this server, also before
it is stored. Webhooks and aggregated API servers are called at these addresses. Follows
apiserver/pkg/util/proxy (ResolveEndpoint, ResolveCluster) and kube-aggregator/pkg/apiserver
(NewLoopbackServiceResolver).

Pods are simulated. On the network of this process, another machine can have the address of a pod,
so requests are never sent to these addresses.
"""

import random
from collections.abc import Iterator, Mapping

from inkube.apiserver.registry import keys
from inkube.schemas.aggregation import availability
from inkube.schemas.golang import quote
from inkube.schemas.objects import Object
from inkube.storage import BaseStore

Endpoint = tuple[tuple[str, int], Object]
"""An address with its port, and the reference to the object that has the address."""


_KUBERNETES = ("default", "kubernetes")
"""Namespace and name of the service of API servers."""
_KUBERNETES_PORT = 443


class UnresolvedError(Exception):
    """No address is found for a Service. The message is Go's."""


class ServiceAddresses:
    """The addresses of Services. `declared` maps `NAMESPACE/NAME` to `HOST:PORT`, and `own` is the
    `HOST:PORT` at which this server reaches itself."""

    def __init__(self, store: BaseStore, declared: Mapping[str, str], own: str) -> None:
        self._store = store
        self._declared = declared
        self._own = own

    def declared(self, namespace: str, name: str) -> str | None:
        """Return the `HOST:PORT` of a Service in the options of the server, or None."""
        return self._declared.get(f"{namespace}/{name}")

    def is_own(self, namespace: str, name: str, port: int) -> bool:
        """Return whether a Service's port is that of this server."""
        return (
            (namespace, name) == _KUBERNETES
            and port == _KUBERNETES_PORT
            and not self.declared(namespace, name)
        )

    def find(self, namespace: str, name: str, port: int) -> str:
        """Return `HOST:PORT` of a Service's port, a random one if there are several.

        Raises UnresolvedError.
        """
        address = self.declared(namespace, name)
        if address is not None:
            return address
        if self.is_own(namespace, name, port):
            return self._own
        entry = self._store.get(keys.key("services", namespace, name))
        if entry is None:
            if (namespace, name) == _KUBERNETES:  # it is stored when a client reads Services
                raise _no_port(name, port)
            raise UnresolvedError(f"service {quote(name)} not found")
        spec = entry.value["spec"]
        if spec.get("type") == "ExternalName":
            return joined(spec["externalName"], port)
        names = [one.get("name") or "" for one in spec.get("ports") or () if one["port"] == port]
        if not names:
            raise _no_port(name, port)
        endpoints = list(self._endpoints(namespace, name, names[0]))
        places = [place for place, target in endpoints if not self._is_pod(namespace, target)]
        if not places:
            why = f"no endpoints available for service {quote(name)}"
            if endpoints:
                why += (
                    f": its pods are simulated, use --service-address {namespace}/{name}=HOST:PORT"
                )
            raise UnresolvedError(why)
        return joined(*random.choice(places))  # noqa: S311 # all addresses are equal

    def _is_pod(self, namespace: str, target: Object) -> bool:
        if target.get("kind") != "Pod":
            return False
        place = target.get("namespace") or namespace, target.get("name") or ""
        return self._store.get(keys.key("pods", *place)) is not None

    def _endpoints(self, namespace: str, name: str, port_name: str) -> Iterator[Endpoint]:
        entries = self._store.list(f"{keys.prefix('endpointslices')}{namespace}/")
        slices = [e.value for e in entries if availability.service_of(e.value) == name]
        if slices:
            yield from availability.addresses(slices, port_name)
            return
        entry = self._store.get(keys.key("endpoints", namespace, name))
        if entry is not None:
            yield from _of_endpoints(entry.value, port_name)


def _no_port(name: str, port: int) -> UnresolvedError:
    return UnresolvedError(f"no service port {port} found for service {quote(name)}")


def _of_endpoints(endpoints: Object, port_name: str) -> Iterator[Endpoint]:
    for subset in endpoints.get("subsets") or ():
        for port in subset.get("ports") or ():
            if (port.get("name") or "") == port_name:
                for address in subset.get("addresses") or ():
                    yield (address["ip"], port["port"]), address.get("targetRef") or {}


def joined(host: str, port: int) -> str:
    """`HOST:PORT`, with brackets around an address of IPv6."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
