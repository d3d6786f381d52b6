"""The flow schema that matches a request, its priority level, and the seat that it takes there.

Requests are classified, and wait for seats (`queues`), after a client has read or written flow
schemas or priority levels: then there are some. Schemas are read from memory, and sorted again
after one of them changed. Follows apiserver/pkg/util/flowcontrol (rule.go, apf_controller.go) and
pkg/server/filters (priority-and-fairness.go).
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from inkube.apiserver.auth.queues import Level, Pool, Usage
from inkube.apiserver.http import Head, RequestInfo
from inkube.apiserver.registry import Samples, StoreCache, User, keys
from inkube.schemas.objects import Object
from inkube.storage import Store

_SCHEMAS = keys.prefix("flowschemas")
_LEVELS = keys.prefix("prioritylevelconfigurations")
_EVERY = "*"
_MAX_CACHED_FLOWS = 1024  # users and addresses with a known flow


_SCHEMA_HEADER = "X-Kubernetes-PF-FlowSchema-UID"
_LEVEL_HEADER = "X-Kubernetes-PF-PriorityLevel-UID"
_WAIT_SECONDS = 15.0
"""The longest wait for a seat: a quarter of the time limit of requests
(priority-and-fairness.go)."""
_WAITS = "apiserver_flowcontrol_request_wait_duration_seconds"
_LENGTHS = "apiserver_flowcontrol_request_queue_length_after_enqueue"


class Flow(NamedTuple):
    """The requests of one schema that share queues."""

    head: Head
    """The headers that name its schema and its level by their uids."""
    schema_name: str
    level: Level | None
    hand: Sequence[int]
    """The numbers of its queues on the level."""
    usage: Usage
    is_limited: bool
    """Whether its requests need seats."""

    def take(self) -> bool:
        """Take a seat, if one is free; the caller gives it back with `leave`."""
        if self.level is None or not self.level.take():
            return False
        self._count()
        return True

    def _count(self) -> None:
        self.usage.executing += 1
        self.usage.dispatched += 1

    async def wait(self, samples: Samples) -> float:
        """Wait for a seat, and take it as `take`. Returns the seconds. Raises StatusError 429."""
        level = self.level
        assert level is not None, "`is_limited` is true"
        waited = await self._wait(level, samples)
        self._count()
        return waited

    async def _wait(self, level: Level, samples: Samples) -> float:
        begun, executes = time.perf_counter(), "false"
        try:
            length = await level.wait(self.hand, self.usage, _WAIT_SECONDS)
            executes = "true"
        finally:
            waited = time.perf_counter() - begun
            samples.observe(waited, _WAITS, level.name, self.schema_name, executes)
        samples.observe(length, _LENGTHS, level.name, self.schema_name)
        return waited

    def leave(self) -> None:
        """Give the seat back."""
        assert self.level is not None, "`is_limited` is true"
        self.usage.executing -= 1
        self.level.release()


@dataclass(slots=True)
class _FlowSchemas:
    """The schemas sorted by precedence, and the known flows of requests."""

    schemas: list[tuple[Object, str, Level | None]]
    """Each with the uid and the level."""
    flows: dict[tuple[Any, ...], Flow | None] = field(default_factory=dict)


class Flows:
    """Assigns requests to the flow schemas of one store. `seats` is the number of requests that run
    at a time; without seats, requests are not classified."""

    def __init__(self, store: Store, seats: int) -> None:
        self._store = store
        self._is_enabled = seats > 0
        self._pool = Pool(seats)
        self._order = StoreCache(store, (_SCHEMAS, _LEVELS), self._read)

    @property
    def are_active(self) -> bool:
        """Whether requests are classified and limited by their flows."""
        return self._is_enabled and bool(self._order.value.schemas)

    @property
    def levels(self) -> Sequence[Level]:
        """The priority levels by name."""
        active = self.are_active  # brings the levels up to date
        return [level for _, level in sorted(self._pool.levels.items())] if active else []

    def figures(self) -> Iterator[tuple[str, ...]]:
        """Yield the names and labels of metrics, each with its value as a text at the end."""
        for level in self.levels:
            yield from level.figures()

    def of(self, info: RequestInfo, user: User) -> Flow | None:
        """Return the flow of a request; None until a client has read flow schemas."""
        order = self._order.value
        if not order.schemas or not self._is_enabled:
            return None
        key = (
            user.name, user.groups, info.verb, info.group, info.resource, info.subresource,
            info.namespace, "" if info.is_resource else info.path,
        )  # fmt: skip
        flow = order.flows.get(key)
        if flow is None and key not in order.flows:
            if len(order.flows) >= _MAX_CACHED_FLOWS:
                order.flows.clear()
            matching = (each for each in order.schemas if _matches(each[0]["spec"], info, user))
            found = next(matching, None)
            flow = order.flows[key] = None if found is None else _flow(*found, info, user)
        return flow

    def _read(self) -> _FlowSchemas:
        levels = self._pool.configure(entry.value for entry in self._store.list(_LEVELS))
        every = [entry.value for entry in self._store.list(_SCHEMAS)]
        every.sort(key=lambda schema: (schema["spec"].get("matchingPrecedence", 0), _name(schema)))
        return _FlowSchemas(
            [(each, each["metadata"]["uid"], levels.get(_level_of(each))) for each in every]
        )


def _flow(schema: Object, uid: str, level: Level | None, info: RequestInfo, user: User) -> Flow:
    """Return the flow of a request that a schema matches (computeFlowDistinguisher)."""
    name = _name(schema)
    level_uid = "" if level is None else level.uid
    head = Head({_SCHEMA_HEADER: uid, _LEVEL_HEADER: level_uid})
    if level is None:
        return Flow(head, name, None, (), Usage(), False)
    method = (schema["spec"].get("distinguisherMethod") or {}).get("type", "")
    part = {"ByUser": user.name, "ByNamespace": info.namespace}.get(method, "")
    hand = level.hand(f"{name}\0{part}")
    return Flow(head, name, level, hand, level.usage_of(name), not level.is_exempt)


def _name(obj: Object) -> str:
    name: str = obj["metadata"]["name"]
    return name


def _level_of(schema: Object) -> str:
    name: str = (schema["spec"].get("priorityLevelConfiguration") or {}).get("name", "")
    return name


def _matches(schema: Object, info: RequestInfo, user: User) -> bool:
    return any(
        any(_matches_subject(subject, user) for subject in rule.get("subjects") or ())
        and (_matches_resource(rule, info) if info.is_resource else _matches_path(rule, info))
        for rule in schema.get("rules") or ()
    )


def _matches_subject(subject: Object, user: User) -> bool:
    kind = subject.get("kind")
    if kind == "User":
        return (subject.get("user") or {}).get("name") in (_EVERY, user.name)
    if kind == "Group":
        name = (subject.get("group") or {}).get("name")
        return name == _EVERY or name in user.groups
    account = subject.get("serviceAccount") or {}
    prefix = f"system:serviceaccount:{account.get('namespace', '')}:"
    if account.get("name") == _EVERY:
        return user.name.startswith(prefix)
    return user.name == f"{prefix}{account.get('name', '')}"


def _matches_resource(rule: Object, info: RequestInfo) -> bool:
    resource = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
    return any(
        _has(one.get("verbs"), info.verb)
        and _has(one.get("apiGroups"), info.group)
        and _has(one.get("resources"), resource)
        and _covers_namespace(one, info.namespace)
        for one in rule.get("resourceRules") or ()
    )


def _covers_namespace(rule: Object, namespace: str) -> bool:
    if not namespace:
        return bool(rule.get("clusterScope"))
    return _has(rule.get("namespaces"), namespace)


def _matches_path(rule: Object, info: RequestInfo) -> bool:
    return any(
        _has(one.get("verbs"), info.verb)
        and any(_is_path(pattern, info.path) for pattern in one.get("nonResourceURLs") or ())
        for one in rule.get("nonResourceRules") or ()
    )


def _is_path(pattern: str, path: str) -> bool:
    if pattern.endswith("*"):
        return path.startswith(pattern[:-1])
    return pattern == path


def _has(values: Sequence[str] | None, value: str) -> bool:
    return values is not None and (value in values or _EVERY in values)
