"""Warnings about services whose cluster IPs or node ports are outside the ranges of the server, or
belong to another service, too.

No write can create such services. They come from the data of a server with other options, or from a
ServiceCIDR that was deleted without its finalizer. Follows
pkg/registry/core/service/ipallocator/controller/repairip.go and
pkg/registry/core/service/portallocator/controller/repair.go.
"""

import ipaddress
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from inkube.controllers.client import Object
from inkube.controllers.core.serviceips import (
    ADDRESSES_NAME,
    DEFAULT_RANGE,
    RANGES,
    SERVICES,
    cluster_ips,
    networks,
)
from inkube.controllers.eventseries import SeriesRecorder
from inkube.controllers.informer import Change, Key
from inkube.controllers.manager import Controller, Manager, Result, Watch

NAME = "service-repair-controller"
PORTS_NAME = "portallocator-repair-controller"
_ADDRESS, _PORT = "ClusterIPAllocation", "PortAllocation"
_AGAIN = "please recreate service"
_INTERVAL = 180.0
"""Seconds until the next warning (repairInterval of pkg/controlplane)."""


class _Trouble(NamedTuple):
    """An Event about a service. The action names the allocator."""

    action: str
    reason: str
    message: str


class Repairs:
    """Warns about services. `cidrs` and `ports` are the ranges of the options."""

    def __init__(self, manager: Manager, cidrs: Sequence[str], ports: range) -> None:
        self._services = manager.informers.of(SERVICES)
        self._ranges = manager.informers.of(RANGES)
        self._defaults = [ipaddress.ip_network(each) for each in cidrs]
        self._ports = ports
        self._by_address = self._services.index(cluster_ips)
        self._by_port = self._services.index(_node_ports)
        self._events = {
            action: SeriesRecorder(manager.client, manager.clock, manager.event_names, name)
            for action, name in ((_ADDRESS, ADDRESSES_NAME), (_PORT, PORTS_NAME))
        }

    async def reconcile(self, key: Key) -> Result | None:
        """Record the troubles of one service, again and again while it has any."""
        service = self._services.get(key)
        troubles = (
            [] if service is None else [*self._addresses(service), *self._node_ports(service)]
        )
        for each in troubles:
            await self._events[each.action].record(
                service or {}, "Warning", each.reason, each.message, action=each.action
            )
        return Result(requeue_after=_INTERVAL) if troubles else None

    def _addresses(self, service: Object) -> Iterator[_Trouble]:
        usable = [each for one in self._ranges.items() for each in networks(one)]
        if self._ranges.get(Key("", DEFAULT_RANGE)) is None:
            usable += self._defaults
        for text in cluster_ips(service):
            address = ipaddress.ip_address(text)
            what = f"Cluster IP [IPv{address.version}]:"
            if not any(address in network for network in usable):
                why = f"{what} {text} is not within any configured Service CIDR; {_AGAIN}"
                yield _Trouble(_ADDRESS, "ClusterIPOutOfRange", why)
            elif self._by_address.keys(text)[0] != Key.of(service):
                why = f"{what}{text} was assigned to multiple services; {_AGAIN}"
                yield _Trouble(_ADDRESS, "ClusterIPAlreadyAllocated", why)

    def _node_ports(self, service: Object) -> Iterator[_Trouble]:
        ports = f"{self._ports.start}-{self._ports.stop - 1}"
        for text in sorted(set(_node_ports(service))):
            if int(text) not in self._ports:
                why = f"Port {text} is not within the port range {ports}; {_AGAIN}"
                yield _Trouble(_PORT, "PortOutOfRange", why)
            elif self._by_port.keys(text)[0] != Key.of(service):
                why = f"Port {text} was assigned to multiple services; {_AGAIN}"
                yield _Trouble(_PORT, "PortAlreadyAllocated", why)

    def of_service(self, change: Change) -> Iterator[Key]:
        """Yield a changed service, and those that have its addresses and ports, too."""
        yield Key.of(change.object)
        for address in cluster_ips(change.object):
            yield from self._by_address.keys(address)
        for port in _node_ports(change.object):
            yield from self._by_port.keys(port)

    def of_range(self, change: Change) -> Iterator[Key]:
        """Yield every service, if a range is gone."""
        if change.new is None:
            yield from map(Key.of, self._services.items())

    def add(self, manager: Manager) -> None:
        """Run the controller."""
        watches = Watch(SERVICES, self.of_service), Watch(RANGES, self.of_range)
        manager.add(Controller(NAME, self.reconcile, watches, concurrency=1))
        for action, recorder in self._events.items():
            manager.add(recorder.controller(f"{NAME}-{action}-events"))


def _node_ports(service: Object) -> Iterator[str]:
    spec = service["spec"]
    numbers = [each.get("nodePort") for each in spec.get("ports") or ()]
    yield from (str(each) for each in [*numbers, spec.get("healthCheckNodePort")] if each)


def add(manager: Manager, cidrs: Sequence[str], ports: range) -> None:
    """Run the controller that warns about services."""
    Repairs(manager, cidrs, ports).add(manager)
