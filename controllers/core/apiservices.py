"""Availability of aggregated API servers: the `Available` condition of every APIService.

The controller checks the service and its endpoints, then sends a discovery request to the server,
and refreshes its documents. It checks a failing server again with growing delays, and a working one
every 30 seconds. Follows kube-aggregator/pkg/controllers/status (remote and local).
"""

from collections.abc import Callable, Iterator
from typing import Protocol

from inkube.controllers.client import Client, Object, ignoring
from inkube.controllers.informer import Change, Informer, Key
from inkube.controllers.manager import Controller, Manager, Result, Watch
from inkube.controllers.workqueue import Backoff
from inkube.schemas import meta
from inkube.schemas.aggregation import Finding, Registration, availability, registrations
from inkube.schemas.clock import Clock
from inkube.schemas.meta import GVR

RESOURCE = GVR("apiregistration.k8s.io", "v1", "apiservices")
SERVICES = GVR("", "v1", "services")
SLICES = GVR("discovery.k8s.io", "v1", "endpointslices")
RECHECK = 30.0
"""Seconds until the next check of a server that responds."""
RETRY = Backoff(first=0.5, longest=RECHECK)


class Servers(Protocol):
    """The aggregated API servers, by the names of their APIServices."""

    async def check(self, name: str) -> str:
        """Return the reason why a server does not respond; "" if it does."""
        ...

    async def refresh(self, name: str) -> bool:
        """Fetch the documents of a server again. If it returns False, they are stale."""
        ...

    def report_unreachable(self, name: str) -> None:
        """Mark the documents of the server as stale."""
        ...

    def on_trouble(self, listener: Callable[[str], None]) -> Callable[[], None]:
        """Call the listener when a request could not be forwarded; the result removes the
        listener."""
        ...


class AvailabilityController:
    """Writes the condition of every APIService, and refreshes the documents of its server."""

    def __init__(
        self,
        client: Client,
        servers: Servers,
        *,
        clock: Clock,
        informer: Informer,
        services: Informer,
        slices: Informer,
    ) -> None:
        self._client = client
        self._servers = servers
        self._clock = clock
        self._informer = informer
        self._services = services
        self._by_service = slices.index(_service_of)
        self._slices = slices
        self._by_used_service = informer.index(_used_service)
        self._failures: dict[str, int] = {}
        """Name of an APIService → consecutive failures of its server, also of its discovery."""

    async def reconcile(self, key: Key) -> Result | None:
        """Check the server of one APIService."""
        obj = self._informer.get(key)
        if obj is None:
            self._failures.pop(key.name, None)
            return None
        registration = Registration.of(obj)
        if not registration.is_remote:
            await self._reconcile_local(obj)
            return None
        finding = await self._check_availability(registration)
        await self._write(obj, finding)
        # a server that fails the check can still return its documents
        if availability.was_asked(finding):
            is_known = await self._servers.refresh(key.name)
        else:
            self._servers.report_unreachable(key.name)
            is_known = False
        if is_known and finding == availability.PASSED:
            self._failures.pop(key.name, None)
            return Result(requeue_after=RECHECK)
        failures = self._failures[key.name] = self._failures.get(key.name, 0) + 1
        return Result(requeue_after=RETRY.delay(failures))

    def affected_keys(self, change: Change) -> Iterator[Key]:
        """Yield the APIServices of a changed service, or of the service of changed slices."""
        obj = change.object
        namespace = obj["metadata"].get("namespace", "")
        of_slice = obj.get("kind") == "EndpointSlice"
        name = availability.service_of(obj) if of_slice else obj["metadata"]["name"]
        yield from self._by_used_service.keys(f"{namespace}/{name}")

    async def _reconcile_local(self, obj: Object) -> None:
        """Mark a group of this process as available, and refresh its documents."""
        if registrations.condition(obj) is None:
            local = registrations.local(meta.format_time(self._clock.now()))
            await self._write(obj, (local["status"], local["reason"], local["message"]))
        await self._servers.refresh(obj["metadata"]["name"])

    async def _check_availability(self, registration: Registration) -> Finding:
        service = registration.service
        if service is not None and not registration.url:
            place = f"{service.namespace}/{service.name}"
            found = self._services.get(Key(service.namespace, service.name))
            slices = [self._slices.get(key) for key in self._by_service.keys(place)]
            finding = availability.of_service(service, found, [one for one in slices if one])
            if finding is not None:
                return finding
        why = await self._servers.check(registration.name)
        return availability.failed_check(why) if why else availability.PASSED

    async def _write(self, obj: Object, finding: Finding) -> None:
        status = availability.next_status(obj, finding, meta.format_time(self._clock.now()))
        if status is None:
            return
        with ignoring(404):
            await self._client.update({**obj, "status": status}, subresource="status")


def leads_elsewhere(change: Change) -> Iterator[Key]:
    """Yield the APIService of a change, unless only its status changed, which this controller
    writes."""
    old, new = change.old, change.new
    if old is None or new is None or Registration.of(old)[:-1] != Registration.of(new)[:-1]:
        yield Key.of(change.object)


def _service_of(slice_: Object) -> Iterator[str]:
    yield f"{slice_['metadata'].get('namespace', '')}/{availability.service_of(slice_)}"


def _used_service(obj: Object) -> Iterator[str]:
    service = Registration.of(obj).service
    if service is not None:
        yield f"{service.namespace}/{service.name}"


def add(manager: Manager, servers: Servers, client: Client) -> None:
    """Add the controller to the manager."""
    of = manager.informers.of
    controller = AvailabilityController(
        client,
        servers,
        clock=manager.clock,
        informer=of(RESOURCE),
        services=of(SERVICES),
        slices=of(SLICES),
    )

    def follow(add: Callable[[Key], None]) -> Callable[[], None]:
        return servers.on_trouble(lambda name: add(Key("", name)))

    manager.add(
        Controller(
            "apiservice-availability",
            controller.reconcile,
            (
                Watch(RESOURCE, leads_elsewhere),
                Watch(SERVICES, controller.affected_keys),
                Watch(SLICES, controller.affected_keys),
            ),
            sources=(follow,),
            everywhere=True,
            gives_time=True,
        )
    )
