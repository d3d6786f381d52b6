"""The IPAddress objects of cluster IPs, and the readiness and deletion of ServiceCIDRs.

`add_addresses` keeps one IPAddress for each address of a service: it creates what is missing, also
after a deletion by a client, and removes what no service has. Events tell what clients left to
repair. The allocator of addresses (`schemas.builtin.strategies.allocators`) reads services too, so
that no address is free while its object is missing. `add_ranges` runs the controller that does not
let a ServiceCIDR disappear while addresses need it. `add_default_range` gives the default
ServiceCIDR a second range, and creates it again after a deletion.

Follows pkg/registry/core/service/ipallocator/controller/repairip.go,
pkg/controller/servicecidrs/servicecidrs_controller.go and
pkg/controlplane/controller/defaultservicecidr.
"""

import ipaddress
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from datetime import datetime

from inkube.controllers.client import Client, Object, apply_status, ignoring
from inkube.controllers.events import Recorder
from inkube.controllers.eventseries import SeriesRecorder
from inkube.controllers.informer import Change, Informer, Key
from inkube.controllers.manager import Controller, Manager, Result, Watch
from inkube.schemas import meta
from inkube.schemas.clock import Clock
from inkube.schemas.status import StatusError

SERVICES = "v1/services"
ADDRESSES = "networking.k8s.io/v1/ipaddresses"
RANGES = "networking.k8s.io/v1/servicecidrs"
ADDRESSES_NAME = "ipallocator-repair-controller"
RANGES_NAME = "service-cidr-controller"
DEFAULT_RANGE = "kubernetes"
"""The name of the ServiceCIDR with the ranges of the options."""
DEFAULT_RANGE_NAME = "kubernetes-service-cidr-controller"
_KUBERNETES = Key("default", "kubernetes")
FINALIZER = "networking.k8s.io/service-cidr-finalizer"
_RESTORE_SECONDS = 10.0
"""The time after which a deleted default ServiceCIDR or service `kubernetes` exists again (interval
of defaultservicecidr, EndpointInterval of kubernetesservice)."""
_LEAKED_SECONDS, _WRONG_SECONDS = 60.0, 5.0
"""The age from which an IPAddress of a missing service, or of one with another address, goes."""
_FAMILY = "ipaddress.kubernetes.io/ip-family"
_MANAGED_BY = "ipaddress.kubernetes.io/managed-by"
_ALLOCATOR = "ipallocator.k8s.io"
_READY = "Kubernetes Service CIDR is ready"
_IN_USE = (
    "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new "
    "ServiceCIDR"
)
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def address(name: str, service: Mapping[str, str]) -> Object:
    """Return the IPAddress of a cluster IP. `service` has the namespace and the name of its
    service."""
    labels = {_FAMILY: f"IPv{ipaddress.ip_address(name).version}", _MANAGED_BY: _ALLOCATOR}
    parent = {"resource": "services", "namespace": service["namespace"], "name": service["name"]}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "IPAddress",
        "metadata": {"name": name, "labels": labels},
        "spec": {"parentRef": parent},
    }


class AddressController:
    """Keeps one IPAddress for each cluster IP. The keys are addresses."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        events: SeriesRecorder,
        *,
        services: Informer,
        addresses: Informer,
    ) -> None:
        self._client = client
        self._clock = clock
        self._events = events
        self._own_deletions: set[str] = set()
        """uids of IPAddresses that this controller deletes."""
        self._lost: set[str] = set()
        """Addresses whose objects somebody else deleted."""
        self._released: set[str] = set()
        """Addresses that a service had until now, whose objects have to go."""
        self._services = services
        self._addresses = addresses
        self._by_address = services.index(cluster_ips)

    async def reconcile(self, key: Key) -> Result | None:
        """Compare the IPAddress of one address with the services that have it."""
        if not self._is_right(key):
            for informer in (self._services, self._addresses):  # the two are not equally recent
                await informer.caught_up()
        was_lost, was_released = key.name in self._lost, key.name in self._released
        self._lost.discard(key.name)
        self._released.discard(key.name)
        if self._is_right(key):
            return None
        found, owners = self._addresses.get(key), self._owners(key)
        if owners:
            await self._restore(key.name, found, owners[0], was_lost=was_lost)
        elif found is not None and was_released:
            await self._replace(found, None)
        elif found is not None:
            return await self._clean_up(found)
        return None

    async def _restore(
        self, name: str, stored: Object | None, owner: Object, *, was_lost: bool
    ) -> None:
        """Create the right IPAddress of a service (syncService)."""
        meta = owner["metadata"]
        right, told = address(name, meta), f"[IPv{ipaddress.ip_address(name).version}]: {name}"
        why = f"Cluster IP {told} is not allocated; repairing" if was_lost else ""
        if stored is not None:
            is_wrong = _reference(stored) != _reference(right)
            of = f"for Service {meta['namespace']}/{meta['name']}"
            why = f"the ClusterIP {told} {of} has a wrong reference; repairing" if is_wrong else ""
        if await self._replace(stored, right) and why:
            await self._events.record(
                owner, "Warning", "ClusterIPNotAllocated", why, action="ClusterIPAllocation"
            )

    async def _clean_up(self, stored: Object) -> Result | None:
        """Delete an IPAddress that no service has, a while after its creation (syncIPAddress)."""
        name = stored["metadata"]["name"]
        group, resource, namespace, parent = _reference(stored)
        reason, seconds = "IPAddressNotAllocated", 0.0
        of = f"IPAddress: {name} for Service {namespace}/{parent}"
        if (group, resource) != ("", "services"):
            told = f"Group:{group},Resource:{resource},Namespace:{namespace},Name:{parent},"
            why = f"IPAddress {name} appears to have been modified, not referencing a Service "
            why += f"&ParentReference{{{told}}}: cleaning up"
        elif self._services.get(Key(namespace, parent)) is None:
            why, seconds = f"{of} appears to have leaked: cleaning up", _LEAKED_SECONDS
        else:
            why, seconds = f"{of} has a wrong reference; cleaning up", _WRONG_SECONDS
            reason = "IPAddressWrongReference"
        created = datetime.fromisoformat(stored["metadata"]["creationTimestamp"])
        age = (self._clock.now() - created).total_seconds()
        if age < seconds:
            return Result(requeue_after=seconds - age)
        if await self._replace(stored, None):
            await self._events.record(stored, "Warning", reason, why, action="IPAddressAllocation")
        return None

    async def _replace(self, stored: Object | None, right: Object | None) -> bool:
        """Delete an IPAddress and create another one. Returns whether both happened; otherwise an
        event follows."""
        with ignoring(404, 409):
            if stored is not None:
                await self._delete(stored)
            if right is not None:
                await self._client.create(right)
            return True
        return False

    async def _delete(self, ip_address: Object) -> None:
        uid = ip_address["metadata"]["uid"]
        self._own_deletions.add(uid)
        options = {"preconditions": {"uid": uid}}
        try:
            await self._client.delete(ADDRESSES, ip_address["metadata"]["name"], options=options)
        except StatusError:
            self._own_deletions.discard(uid)
            raise

    def _owners(self, key: Key) -> list[Object]:
        found = (self._services.get(each) for each in sorted(self._by_address.keys(key.name)))
        return [each for each in found if each is not None]

    def _is_right(self, key: Key) -> bool:
        """Return whether the stored IPAddress is one that the services of the address need. An
        IPAddress of another owner for an unused address is right."""
        found, owners = self._addresses.get(key), self._owners(key)
        if not owners:
            return found is None or not is_managed(found)
        return found is not None and any(
            _content(found) == _content(address(key.name, each["metadata"])) for each in owners
        )

    def of_address(self, change: Change) -> Iterator[Key]:
        """Yield a changed address, and record one that somebody else deleted."""
        address, uid = change.object, change.object["metadata"]["uid"]
        if change.new is None:
            if uid not in self._own_deletions and is_managed(address):
                self._lost.add(address["metadata"]["name"])
            self._own_deletions.discard(uid)
        yield Key.of(address)

    def of_service(self, change: Change) -> Iterator[Key]:
        """Yield the addresses that a service has or had."""
        before, now = (
            [] if service is None else list(cluster_ips(service))
            for service in (change.old, change.new)
        )
        self._released.update(each for each in before if each not in now)
        for each in (*before, *now):
            yield Key("", each)


def cluster_ips(service: Object) -> Iterator[str]:
    """Yield the cluster IPs of a service in canonical form, or none."""
    spec = service["spec"]
    for text in spec.get("clusterIPs") or [spec.get("clusterIP") or ""]:
        try:
            yield str(ipaddress.ip_address(text))
        except ValueError:  # none, or the text None
            continue


def is_managed(ip_address: Object) -> bool:
    """Return whether an IPAddress belongs to the allocator of cluster IPs."""
    return (ip_address["metadata"].get("labels") or {}).get(_MANAGED_BY) == _ALLOCATOR


def _content(ip_address: Object) -> tuple[tuple[str, ...], bool, str]:
    labels = ip_address["metadata"].get("labels") or {}
    return _reference(ip_address), is_managed(ip_address), labels.get(_FAMILY, "")


def _reference(ip_address: Object) -> tuple[str, str, str, str]:
    """Return group, resource, namespace and name of the object that has an address."""
    parent = ip_address["spec"].get("parentRef") or {}
    return (
        parent.get("group", ""),
        parent.get("resource", ""),
        parent.get("namespace", ""),
        parent.get("name", ""),
    )


def add_addresses(manager: Manager) -> None:
    """Run the controller of IPAddresses, as kube-apiserver does in each server."""
    services, addresses = manager.informers.of(SERVICES), manager.informers.of(ADDRESSES)
    events = SeriesRecorder(manager.client, manager.clock, manager.event_names, ADDRESSES_NAME)
    controller = AddressController(
        manager.client, manager.clock, events, services=services, addresses=addresses
    )
    watches = Watch(SERVICES, controller.of_service), Watch(ADDRESSES, controller.of_address)
    manager.add(Controller(ADDRESSES_NAME, controller.reconcile, watches, everywhere=True))
    manager.add(events.controller(f"{ADDRESSES_NAME}-events"))


class RangeController:
    """Maintains the finalizer and the condition of each ServiceCIDR."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        *,
        ranges: Informer,
        services: Informer,
        addresses: Informer,
    ) -> None:
        self._client = client
        self._clock = clock
        self._ranges = ranges
        self._users = services, addresses

    async def reconcile(self, key: Key) -> None:
        """Handle one ServiceCIDR."""
        found = self._ranges.get(key)
        if found is None:
            return
        with ignoring(404, 409):
            if "deletionTimestamp" in found["metadata"]:
                await self._end(found)
            else:
                await self._begin(found)

    async def _begin(self, service_cidr: Object) -> None:
        finalizers = service_cidr["metadata"].get("finalizers") or []
        if FINALIZER not in finalizers:
            await self._set_finalizers(service_cidr, [*finalizers, FINALIZER])
        else:
            await self._report(service_cidr, {"status": "True", "reason": "", "message": _READY})

    async def _end(self, service_cidr: Object) -> None:
        for informer in (self._ranges, *self._users):
            await informer.caught_up()
        if self._is_needed(service_cidr):
            refused = {"status": "False", "reason": "Terminating", "message": _IN_USE}
            await self._report(service_cidr, refused)
            return
        finalizers = service_cidr["metadata"].get("finalizers") or []
        if FINALIZER in finalizers:
            await self._set_finalizers(
                service_cidr, [each for each in finalizers if each != FINALIZER]
            )

    def _is_needed(self, service_cidr: Object) -> bool:
        """Return whether an address is only in this ServiceCIDR."""
        own = networks(service_cidr)
        others = [
            network
            for each in self._ranges.items()
            if each["metadata"]["name"] != service_cidr["metadata"]["name"]
            for network in networks(each)
        ]
        if all(any(_contains(other, network) for other in others) for network in own):
            return False
        return any(
            any(each in network for network in own) and not any(each in other for other in others)
            for each in map(ipaddress.ip_address, self._used())
        )

    def _used(self) -> Iterator[str]:
        services, addresses = self._users
        for service in services.items():
            yield from cluster_ips(service)
        for each in addresses.items():
            if is_managed(each):
                yield each["metadata"]["name"]

    async def _set_finalizers(self, service_cidr: Object, finalizers: list[str]) -> None:
        version = service_cidr["metadata"]["resourceVersion"]
        patch = {"metadata": {"resourceVersion": version, "finalizers": finalizers or None}}
        await self._client.patch(RANGES, service_cidr["metadata"]["name"], patch=patch)

    async def _report(self, service_cidr: Object, condition: Object) -> None:
        """Write the condition Ready if it is another one."""
        conditions = (service_cidr.get("status") or {}).get("conditions") or []
        old: Object = next((each for each in conditions if each["type"] == "Ready"), {})
        if condition.items() <= old.items():
            return
        since = old.get("lastTransitionTime")
        if old.get("status") != condition["status"] or since is None:
            since = meta.format_time(self._clock.now())
        new = {"type": "Ready", "lastTransitionTime": since, **condition}
        await apply_status(
            self._client, RANGES, service_cidr, {"conditions": [new]}, manager=RANGES_NAME
        )

    def of_range(self, change: Change) -> Iterator[Key]:
        """Yield the changed ServiceCIDR, and those in deletion, whose addresses can be in it."""
        yield Key.of(change.object)
        yield from self._ending()

    def of_address(self, change: Change) -> Iterator[Key]:
        """Yield the ServiceCIDRs in deletion, which a changed address can hold."""
        yield from self._ending()

    def _ending(self) -> Iterator[Key]:
        for each in self._ranges.items():
            if "deletionTimestamp" in each["metadata"]:
                yield Key.of(each)


def networks(service_cidr: Object) -> list[_Network]:
    """Return the ranges of a ServiceCIDR."""
    return [ipaddress.ip_network(each) for each in service_cidr["spec"].get("cidrs") or ()]


def _contains(outer: _Network, inner: _Network) -> bool:
    """Return whether a network contains another one, or equals it."""
    return outer.version == inner.version and inner.subnet_of(outer)  # type: ignore[arg-type]  # one version


def add_ranges(manager: Manager) -> None:
    """Run service-cidr-controller."""
    ranges, services, addresses = map(manager.informers.of, (RANGES, SERVICES, ADDRESSES))
    controller = RangeController(
        manager.client, manager.clock, ranges=ranges, services=services, addresses=addresses
    )
    watches = (
        Watch(RANGES, controller.of_range),
        Watch(SERVICES, controller.of_address),
        Watch(ADDRESSES, controller.of_address),
    )
    manager.add(
        Controller(RANGES_NAME, controller.reconcile, watches, concurrency=1, gives_time=True)
    )


class DefaultRangeController:
    """Compares the default ServiceCIDR with the ranges of the options, and restores it and the
    service `kubernetes` after a deletion."""

    def __init__(
        self,
        manager: Manager,
        cidrs: Sequence[str],
        restore: Callable[[], Awaitable[None]],
    ) -> None:
        self._client = manager.client
        self._clock = manager.clock
        names = manager.event_names
        self._events = Recorder(self._client, self._clock, names, DEFAULT_RANGE_NAME)
        self._ranges = manager.informers.of(RANGES)
        self._services = manager.informers.of(SERVICES)
        self._cidrs = list(cidrs)
        self._restore = restore
        self._has_reported = False
        self._missing_since: float | None = None

    async def reconcile(self, key: Key) -> Result | None:
        """Create what is missing. Add the second range to a ServiceCIDR with the first one, or
        report another difference once."""
        for informer in (self._ranges, self._services):
            await informer.caught_up()
        found = self._ranges.get(Key("", DEFAULT_RANGE))
        if found is not None and "deletionTimestamp" not in found["metadata"]:
            await self._compare(found)
        if found is not None and self._services.get(_KUBERNETES) is not None:
            self._missing_since = None
            return None
        now = self._clock.monotonic()
        if self._missing_since is None:
            self._missing_since = now
        left = self._missing_since + _RESTORE_SECONDS - now
        if left > 0:
            return Result(requeue_after=left)
        await self._restore()
        return None

    async def _compare(self, service_cidr: Object) -> None:
        stored = service_cidr["spec"].get("cidrs") or []
        if len(self._cidrs) == 2 and stored == self._cidrs[:1]:
            await self._extend(service_cidr)
        elif stored != self._cidrs and not self._has_reported:
            self._has_reported = True
            ranges = f"[{' '.join(stored)}]"
            options = f"[{' '.join(self._cidrs)}]"
            text = f"The default ServiceCIDR {ranges} does not match the controller flag "
            text += f"configurations {options}"
            reason = "KubernetesDefaultServiceCIDRInconsistent"
            await self._events.warning(service_cidr, reason, text)

    def keys(self, change: Change) -> Iterator[Key]:
        """Yield the one key, if the default ServiceCIDR or the service `kubernetes` changed."""
        if Key.of(change.object) in (_KUBERNETES, Key("", DEFAULT_RANGE)):
            yield Key("", DEFAULT_RANGE)

    async def _extend(self, service_cidr: Object) -> None:
        spec = {**service_cidr["spec"], "cidrs": self._cidrs}
        try:
            await self._client.update({**service_cidr, "spec": spec})
        except StatusError as error:
            if error.code in (404, 409):  # deleted or changed: an event follows
                return
            first, both = self._cidrs[0], f"[{' '.join(self._cidrs)}]"
            text = f"The default ServiceCIDR can not be upgraded from {first} to dual stack {both}"
            await self._events.warning(
                service_cidr, "KubernetesDefaultServiceCIDRError", f"{text} : {error}"
            )


def add_default_range(
    manager: Manager, cidrs: Sequence[str], restore: Callable[[], Awaitable[None]]
) -> None:
    """Run the controller of the default ServiceCIDR. `cidrs` are the ranges of the options,
    `restore` creates the ServiceCIDR and the service `kubernetes` if they are missing."""
    controller = DefaultRangeController(manager, cidrs, restore)

    def source(add: Callable[[Key], None]) -> Callable[[], None]:
        add(Key("", DEFAULT_RANGE))  # it can be missing already
        return lambda: None

    watches = Watch(RANGES, controller.keys), Watch(SERVICES, controller.keys)
    manager.add(
        Controller(
            DEFAULT_RANGE_NAME, controller.reconcile, watches, concurrency=1, sources=(source,)
        )
    )
