"""Default objects, created at the first request for one of their kinds.

To create them at the start would take longer than the rest of the start, and most servers of tests
never read them. Existing objects stay, changed or not. Deleted objects are created again at the
next start, the service `kubernetes` and its ranges after ten seconds. With RBAC, its roles are
created at the start, because they decide about every request, and those that exist receive what
they lack.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

from inkube.apiserver.defaults import contents
from inkube.apiserver.registry import SystemFields, keys
from inkube.schemas import builtin, releases
from inkube.schemas.objects import Object
from inkube.storage import Entry, Store, errors

Objects = Iterable[tuple[str, Object]]
ROLES = "roles"
MODULE_ROLES = "roles of modules"
"""The set with the roles of modules, only on servers with RBAC."""
IDENTITY = "identity"
"""The set with the Lease of this server."""
AUTHENTICATION_CONFIG_MAP = "extension-apiserver-authentication"
"""The name of a ConfigMap in kube-system."""
VERSIONS = "versions"
"""The set with the APIServices of this server."""
ADDRESSES = "addresses"
"""The set with the ranges of services, and the address of the service `kubernetes`."""
_SERVICE = "service"
_RBAC, _FLOW = "rbac.authorization.k8s.io", "flowcontrol.apiserver.k8s.io"
_NETWORKING = "networking.k8s.io"
_SETS: Mapping[tuple[str, str], str] = {
    ("", "configmaps"): "config",
    ("", "endpoints"): _SERVICE,
    ("", "services"): _SERVICE,
    ("apiregistration.k8s.io", "apiservices"): VERSIONS,
    ("coordination.k8s.io", "leases"): IDENTITY,
    ("discovery.k8s.io", "endpointslices"): _SERVICE,
    (_FLOW, "flowschemas"): "flow",
    (_FLOW, "prioritylevelconfigurations"): "flow",
    (_NETWORKING, "ipaddresses"): ADDRESSES,
    (_NETWORKING, "servicecidrs"): ADDRESSES,
    (_RBAC, "clusterrolebindings"): ROLES,
    (_RBAC, "clusterroles"): ROLES,
    (_RBAC, "rolebindings"): ROLES,
    (_RBAC, "roles"): ROLES,
    ("scheduling.k8s.io", "priorityclasses"): "priorities",
}
"""Group and plural → the set that is created at the first request for this resource."""


_NETWORK = {
    "endpointslices": "discovery.k8s.io",
    "ipaddresses": _NETWORKING,
    "servicecidrs": _NETWORKING,
}
"""The groups of the kinds that describe a server's own service. Other kinds are in the core
group."""


async def _no_wait() -> None:
    """Return immediately."""


class Defaults:
    """Creates each set one time. `address` is the host and the port of the server; `cidrs` are the
    address ranges of services. `addresses_follow` waits until the addresses of all stored services
    have objects."""

    def __init__(
        self,
        store: Store,
        system_fields: SystemFields,
        *,
        address: tuple[str, int],
        cidrs: str,
        addresses_follow: Callable[[], Awaitable[None]] = _no_wait,
        creates: bool = True,
        minor: int = releases.NEWEST.minor,
        proxies: Callable[[Mapping[str, str]], Mapping[str, str]] = dict,
        module_roles: Sequence[Object] = (),
    ) -> None:
        self._store = store
        self._system_fields = system_fields
        self._address = address
        self._cidrs = cidrs
        self._addresses_follow = addresses_follow
        self._minor = minor
        self._proxies = proxies
        self._module_roles = module_roles
        self._trusts_proxies = False
        self._publishing: asyncio.Task[None] | None = None
        self._creates = creates
        self._missing_sets = {*_SETS.values(), MODULE_ROLES} if creates else set()
        self._created: dict[str, Entry] = {}
        self._lock = asyncio.Lock()

    def created_after(self, revision: int) -> Mapping[str, bytes]:
        """Return the default objects that were created after this revision, in their first state,
        by key."""
        return {key: entry.data for key, entry in self._created.items() if entry.created > revision}

    def is_missing(self, group: str, plural: str, name: str) -> bool:
        """Return whether a request for this kind, or one object of it, must wait for `create`."""
        if (
            name == AUTHENTICATION_CONFIG_MAP
            and not self._trusts_proxies
            and not group
            and plural == "configmaps"
        ):
            return True
        if plural == "ipaddresses" and group == _NETWORKING:
            return self._creates
        return bool(self._missing_sets) and _SETS.get((group, plural)) in self._missing_sets

    async def create(self, group: str, plural: str, name: str) -> None:
        """Create the set that contains a kind, and the service to which it can refer. For
        addresses, wait for those of all services."""
        wanted = _SETS[group, plural]
        if wanted in (ADDRESSES, VERSIONS):
            await self.create_set(_SERVICE)
        await self.create_set(wanted)
        if plural == "ipaddresses":
            await self._addresses_follow()
        if name == AUTHENTICATION_CONFIG_MAP and plural == "configmaps":
            await self.trust_proxies()

    async def create_all(self) -> None:
        """Create every set that is still missing."""
        for name in sorted(self._missing_sets):
            await self.create_set(name)

    async def trust_proxies(self) -> None:
        """Store the certificate authority of inkube's requests to extension servers, so that they
        trust these requests. Creates its key if necessary."""
        await self.create_set(_SETS["", "configmaps"])
        async with self._lock:
            key = keys.key("configmaps", "kube-system", AUTHENTICATION_CONFIG_MAP)
            while not self._trusts_proxies:
                self._trusts_proxies = await self._publish(key)

    def publish_authorities(self) -> None:
        """Store the authorities again, because they have changed, if they were stored before."""
        if self._trusts_proxies:
            self._trusts_proxies = False
            self._publishing = asyncio.create_task(self.trust_proxies(), name="authorities")

    def stop_publishing(self) -> None:
        """Cancel what `publish_authorities` has not stored yet."""
        if self._publishing is not None:
            self._publishing.cancel()

    async def _publish(self, key: str) -> bool:
        """Add the authorities to a ConfigMap. Returns False if another write was faster. Returns
        True if they are stored, or if the ConfigMap does not exist."""
        entry = self._store.get(key)
        if entry is None:
            return True
        published = entry.value.get("data") or {}
        value = {**entry.value, "data": {**published, **self._proxies(published)}}
        try:
            if value != entry.value:
                await self._store.update(key, value, entry.revision)
        except (errors.Conflict, errors.NotFound):
            return False
        return True

    async def restore_network(self) -> None:
        """Create the service `kubernetes` and the ranges of services again, if they are missing."""
        for name in (_SERVICE, ADDRESSES):
            self._missing_sets.add(name)
            await self.create_set(name)

    async def create_set(self, name: str) -> None:
        """Create a set in as few commits as possible. Concurrent calls wait."""
        async with self._lock:
            if name in self._missing_sets:
                await asyncio.gather(*(self._create(*one) for one in self._objects(name)))
                self._missing_sets.discard(name)

    def _objects(self, name: str) -> Objects:
        now = self._system_fields.timestamp()
        if name == ROLES:
            every = contents.roles.objects(self._minor)
            return ((plural, self._split(plural, obj)) for plural, obj in every)
        if name == MODULE_ROLES:
            return (("clusterroles", role) for role in self._module_roles)
        if name == "flow":
            return contents.objects.flow_control(now)
        if name == VERSIONS:
            return contents.objects.registered_versions(now, self._minor)
        if name in (_SERVICE, ADDRESSES):
            served = builtin.by_name(self._minor)
            every = (
                contents.objects.addresses(now, self._cidrs)
                if name == ADDRESSES
                else contents.objects.kubernetes_service(*self._address, self._cidrs)
            )
            return (one for one in every if (_NETWORK.get(one[0], ""), one[0]) in served)
        if name == IDENTITY:
            return contents.objects.identity(self._system_fields.now(), self._system_fields.uid())
        if name == "config":
            return contents.objects.config_maps(now)
        return contents.objects.priority_classes()

    def _split(self, plural: str, obj: Object) -> Object:
        """Return a default object as it is created if it is missing. Called before the first of
        them is created."""
        source = contents.reconciling.SPLIT.get(obj["metadata"]["name"])
        if source is None or plural != "clusterrolebindings":
            return obj
        entry = self._store.get(keys.key(plural, "", source))
        return obj if entry is None else contents.reconciling.split(obj, entry.value)

    async def _reconcile(self, entry: Entry, obj: Object) -> None:
        """Add what is missing in a default role or binding. Another server on the same data can be
        faster: it adds the same."""
        value = contents.reconciling.reconciled(entry.value, obj)
        if value != entry.value:
            with contextlib.suppress(errors.Conflict, errors.NotFound):
                await self._store.update(entry.key, value, entry.revision)

    async def _create(self, plural: str, obj: Object) -> None:
        meta = obj["metadata"]
        key = keys.key(plural, meta.get("namespace", ""), meta["name"])
        entry = self._store.get(key)
        if entry is not None:
            if plural in contents.reconciling.PLURALS:
                await self._reconcile(entry, obj)
            return
        head = {name: meta[name] for name in ("name", "namespace") if name in meta}
        stored = {
            "uid": self._system_fields.uid(),
            "creationTimestamp": self._system_fields.timestamp(),
        }
        try:
            value = {**obj, "metadata": {**head, **stored, **meta}}
            self._created[key] = await self._store.create(key, value)
        except errors.AlreadyExists:
            return  # another process on the same file was faster
