"""A server in this process that judges objects: it has what decides about them, and its own chain.

Nothing is decided here. `admission` and `policytests` say which objects are judged.
"""

import copy
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from inkube.apiserver.registry import (
    ADMIN,
    DeleteOptions,
    Sent,
    User,
    WriteOptions,
    changes,
    intake,
)
from inkube.apiserver.server import APIServer
from inkube.schemas import offline
from inkube.schemas.meta import split_api_version
from inkube.schemas.objects import Object
from inkube.schemas.offline import Read
from inkube.schemas.status import Reason, StatusError

NAMESPACE = "default"
_CONTEXT = frozenset(
    {
        "ClusterRole", "ClusterRoleBinding", "LimitRange", "PriorityClass", "ResourceQuota", "Role",
        "RoleBinding", "RuntimeClass", "ServiceAccount", "StorageClass",
    }
)  # fmt: skip
"""Kinds that decide about other objects."""
_POLICIES = frozenset({"MutatingAdmissionPolicy", "ValidatingAdmissionPolicy"})
_BINDINGS = frozenset({f"{kind}Binding" for kind in _POLICIES})


@dataclass(frozen=True, slots=True)
class Decision:
    """What a server says of a write: its refusal, and its warnings."""

    refusal: StatusError | None = None
    warnings: tuple[str, ...] = ()


@dataclass(slots=True)
class Cluster:
    """A server with the objects that decide about others."""

    server: APIServer
    user: User = ADMIN
    refused: list[tuple[Object, StatusError]] = field(default_factory=list)
    """The objects that the server did not store, except those that it had."""
    _stored: set[tuple[str, str]] = field(default_factory=set)

    async def prepare(self, context: Sequence[Read], old: Sequence[Read]) -> None:
        """Store what decides about other objects, and the objects as they were before.

        Invalid objects are left out, because they have findings of their own. Bindings come last,
        so that no policy judges the others.
        """
        params = set(_param_kinds(context))
        for read in sorted(context, key=lambda read: _rank(read, params)):
            if _rank(read, params) <= _LAST:
                await self.add_namespace(read)
                await self._store(read.value)
                if read.group_kind == offline.CRD:
                    await self.server.settled()
        for read in old:
            await self.add_namespace(read)
            await self._store(read.value)
        await self.server.settled()
        for read in context:
            if read.group_kind[1] in _BINDINGS:
                await self._store(read.value)
        await self.server.settled()

    async def judge(self, obj: Object, operation: str) -> Decision:
        """Return what the server says of a write by the user."""
        try:
            return await self._write(copy.deepcopy(obj), operation, self.user)
        except StatusError as refused:
            if refused.reason == Reason.ALREADY_EXISTS:  # it is part of the context
                return Decision()
            return Decision(refused)

    async def _store(self, obj: Object) -> None:
        try:
            await self._write(copy.deepcopy(obj), "create", ADMIN)
        except StatusError as refused:
            if refused.reason != Reason.ALREADY_EXISTS:
                self.refused.append((obj, refused))

    def knows(self, obj: Object) -> bool:
        """Return whether the server has the kind of an object."""
        group, version = split_api_version(obj["apiVersion"])
        resource = self.server.resources.by_kind(group, obj["kind"])
        return resource is not None and resource.served(version) is not None

    async def add_namespace(self, read: Read) -> None:
        """Add the namespace of an object. Those of the set were stored before."""
        namespace = read.metadata.get("namespace")
        if isinstance(namespace, str) and ("Namespace", namespace) not in self._stored:
            self._stored.add(("Namespace", namespace))
            metadata = {"name": namespace}
            await self._store({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})

    async def _write(self, obj: Object, operation: str, user: User) -> Decision:
        group, version = split_api_version(obj["apiVersion"])
        resource = self.server.resources.by_kind(group, obj["kind"])
        served = resource.served(version) if resource is not None else None
        if resource is None or served is None:
            return Decision()
        metadata = obj.setdefault("metadata", {})
        namespace = (metadata.get("namespace") or NAMESPACE) if resource.namespaced else ""
        name = metadata.get("name") or ""
        request = intake.request(
            operation, resource, served, user, namespace=namespace, name=name, manager="validate"
        )
        request = request._replace(options=WriteOptions(validation="Ignore"))
        if operation == "delete":
            await self.server.registry.write(request, changes.Delete(DeleteOptions()))
        else:
            body = intake.accept(request, Sent(obj))
            change = changes.Create if operation == "create" else changes.Put
            await self.server.registry.write(request, change(request, body))
        return Decision(None, tuple(request.notes.warnings))


def user_of(text: str) -> User:
    """Return the user of `alice` or `alice,developers,testers`; "" is an administrator."""
    if not text:
        return ADMIN
    name, *groups = (part.strip() for part in text.split(","))
    return User(name, groups=(*groups, "system:authenticated"))


_LAST = 4


def _rank(read: Read, params: set[tuple[str, str]]) -> int:
    """Return the order in which objects are stored; above _LAST are those that are only judged."""
    kind = read.value["kind"]
    if read.group_kind == offline.CRD:
        return 0
    if kind == "Namespace":
        return 1
    if kind in _CONTEXT:
        return 2
    if (read.value["apiVersion"], kind) in params:
        return 3
    return _LAST if kind in _POLICIES else _LAST + 1


def _param_kinds(reads: Iterable[Read]) -> Iterator[tuple[str, str]]:
    for read in reads:
        if read.value["kind"] in _POLICIES:
            kind = (read.value.get("spec") or {}).get("paramKind") or {}
            yield str(kind.get("apiVersion")), str(kind.get("kind"))
