"""Objects that every server has, made when somebody first asks for one of their kinds.

They would cost a start more than all the rest of it, and most servers of tests never show them.
What is there already, changed or not, stays; what was deleted comes back with the next start. With
RBAC its roles are made at the start, since they decide who may ask.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from inkube.apiserver import root
from inkube.apiserver.registry import keys
from inkube.apiserver.registry.stamps import Stamps
from inkube.storage import errors
from inkube.storage.store import Store

Object = dict[str, Any]
Objects = Iterable[tuple[str, Object]]
ROLES = "roles"
_RBAC, _FLOW = "rbac.authorization.k8s.io", "flowcontrol.apiserver.k8s.io"
_SETS: Mapping[tuple[str, str], str] = {
    ("", "configmaps"): "config",
    ("", "endpoints"): "service",
    ("", "services"): "service",
    ("apiregistration.k8s.io", "apiservices"): "versions",
    ("discovery.k8s.io", "endpointslices"): "service",
    (_FLOW, "flowschemas"): "flow",
    (_FLOW, "prioritylevelconfigurations"): "flow",
    ("networking.k8s.io", "ipaddresses"): "service",
    ("networking.k8s.io", "servicecidrs"): "service",
    (_RBAC, "clusterrolebindings"): ROLES,
    (_RBAC, "clusterroles"): ROLES,
    (_RBAC, "rolebindings"): ROLES,
    (_RBAC, "roles"): ROLES,
    ("scheduling.k8s.io", "priorityclasses"): "priorities",
}
"""Group and plural → the set that is made with the first look at it."""


class Defaults:
    """Makes each set once. `address` tells where the server listens, as soon as it does;
    `cidr` is the range that addresses of services are from."""

    def __init__(
        self,
        store: Store,
        stamps: Stamps,
        *,
        address: Callable[[], tuple[str, int]],
        cidr: str,
        authority: str = "",
        may_make: bool = True,
    ) -> None:
        self._store = store
        self._stamps = stamps
        self._address = address
        self._cidr = cidr
        self._authority = authority
        self._missing = set(_SETS.values()) if may_make else set()
        self._lock = asyncio.Lock()

    def is_wanted(self, group: str, plural: str) -> bool:
        """Whether a look at that kind has to wait for `make`."""
        return bool(self._missing) and _SETS.get((group, plural)) in self._missing

    async def make(self, group: str, plural: str) -> None:
        """Make the set that a kind belongs to."""
        await self.make_set(_SETS[group, plural])

    async def make_set(self, name: str) -> None:
        """Make a set, in as few commits as there can be; others who want it wait."""
        async with self._lock:
            if name in self._missing:
                await asyncio.gather(*(self._create(*one) for one in self._objects(name)))
                self._missing.discard(name)

    def _objects(self, name: str) -> Objects:
        now = self._stamps.timestamp()
        if name == ROLES:
            return root.defaultroles.objects()
        if name == "flow":
            return root.defaultobjects.flow_control(now)
        if name == "versions":
            return root.defaultobjects.registered_versions(now)
        if name == "service":
            return root.defaultobjects.own_service(now, *self._address(), self._cidr)
        if name == "config":
            return root.defaultobjects.config_maps(now, self._authority)
        return root.defaultobjects.priority_classes()

    async def _create(self, plural: str, obj: Object) -> None:
        meta = obj["metadata"]
        key = keys.key(plural, meta.get("namespace", ""), meta["name"])
        if self._store.get(key) is not None:
            return
        head = {name: meta[name] for name in ("name", "namespace") if name in meta}
        made = {"uid": self._stamps.uid(), "creationTimestamp": self._stamps.timestamp()}
        try:
            await self._store.create(key, {**obj, "metadata": {**head, **made, **meta}})
        except errors.AlreadyExists:
            return  # another process on the same file was faster
