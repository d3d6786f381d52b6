"""The flow schema that matches a request, its priority level, and the seat that it takes there.

Requests are classified, and wait for seats (`queues`), after a client has read or written flow
schemas or priority levels: then there are some. Schemas are read from memory, and sorted again
after one of them changed. Follows apiserver/pkg/util/flowcontrol (rule.go, apf_controller.go) and
pkg/server/filters (priority-and-fairness.go).
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field

from inkube.apiserver.auth.queues import Level, Pool
from inkube.apiserver.auth.work import ONE_SEAT, Estimator, Work
from inkube.apiserver.http import Head, RequestInfo, requests
from inkube.apiserver.registry import Resources, StoreCache, User, keys
from inkube.apiserver.samples import Samples
from inkube.schemas.objects import Object
from inkube.storage import Store

_SCHEMAS = keys.prefix("flowschemas")
_LEVELS = keys.prefix("prioritylevelconfigurations")
_EVERY = "*"
_MAX_CACHED_FLOWS = 4096  # kinds of requests of users with a known flow, 300 bytes each
_WRITES = frozenset({"create", "update", "patch", "delete"})
_TOKENS = ("serviceaccounts", "token")
"""Whose writes make no event."""
_SCHEMA_HEADER = "X-Kubernetes-PF-FlowSchema-UID"
_LEVEL_HEADER = "X-Kubernetes-PF-PriorityLevel-UID"
_WAIT_SECONDS = 15.0
"""The longest wait for a seat: a quarter of the time limit of requests
(priority-and-fairness.go)."""
_WAITS = "apiserver_flowcontrol_request_wait_duration_seconds"
_EXECUTIONS = "apiserver_flowcontrol_request_execution_seconds"
_ESTIMATES = "apiserver_flowcontrol_work_estimated_seats"
_LENGTHS = "apiserver_flowcontrol_request_queue_length_after_enqueue"


Estimate = Callable[[RequestInfo, int], Work]
"""Returns the work of a request, given the most seats of one request."""


class Flow:
    """The requests of one schema that share queues, and take their seats in the same way."""

    __slots__ = (
        "_estimate", "_hand", "_is_exempt", "_level", "_samples", "_schema_name", "_usage", "head",
        "is_watch",
    )  # fmt: skip

    def __init__(
        self,
        head: Head,
        schema_name: str,
        level: Level,
        hand: Sequence[int],
        samples: Samples,
        info: RequestInfo,
        estimate: Estimate | None,
    ) -> None:
        """`hand` has the numbers of its queues on the level. `info` is one of its requests. Each of
        them takes one seat if `estimate` is None."""
        self.head = head
        """The headers that name its schema and its level by their uids."""
        self.is_watch = info.verb in requests.WATCHES
        """Whether its requests have their seats only until they begin."""
        self._schema_name = schema_name
        self._level = level
        self._is_exempt = level.is_exempt
        self._hand = hand
        self._usage = level.usage_of(schema_name)
        self._samples = samples
        self._estimate = estimate

    def enter(self, info: RequestInfo) -> Work | None:
        """Take the seats of a request, if they are free. The caller gives them back with
        `leave`, or waits for them if there are none. On an exempt level, which has room for all
        requests, it is enough to count them."""
        level = self._level
        if level.used < level.unchecked and self._estimate is None:
            if not self._is_exempt:
                level.used += 1
            self._usage.begun += 1
            return ONE_SEAT
        work = self._work(info)
        return self._begin(work) if level.take(work.seats) else None

    async def wait(self, info: RequestInfo) -> tuple[Work, float]:
        """Wait for the seats of a request, and take them as `enter`. Returns also the seconds.
        Raises StatusError 429."""
        work = self._work(info)
        waited = await self._wait(work.seats)
        return self._begin(work), waited

    def _work(self, info: RequestInfo) -> Work:
        return ONE_SEAT if self._estimate is None else self._estimate(info, self._level.most)

    def _begin(self, work: Work) -> Work:
        """Count a request that begins. Returns its work, with the time if somebody reads
        metrics."""
        level, usage = self._level, self._usage
        if level.history is not None:
            level.record()
            work = Work(work.seats, work.after, work.seconds, time.perf_counter())
        usage.begun += 1
        usage.further_seats += work.seats - 1
        return work

    async def _wait(self, seats: int) -> float:
        begun, executes, observe = time.perf_counter(), "false", self._samples.observe
        names = self._level.name, self._schema_name
        try:
            length = await self._level.wait(self._hand, self._usage, seats, _WAIT_SECONDS)
            executes = "true"
        finally:
            waited = time.perf_counter() - begun
            observe(waited, _WAITS, *names, executes)
        observe(length, _LENGTHS, *names)
        return waited

    def leave(self, work: Work) -> None:
        """Give the seats of a request back, at once or when watches got its event."""
        self._usage.ended += 1
        if work is not ONE_SEAT:
            self._leave(work)
            return
        if self._is_exempt:
            return
        level = self._level
        level.spent += 1
        if level.spent > level.batch or level.pool.waiting:
            level.pool.end_turn_later()

    def _leave(self, work: Work) -> None:
        if work.begun:
            self._observe(work)
        self._usage.further_seats -= work.seats - 1 - work.after
        if work.after:
            asyncio.get_running_loop().call_later(work.seconds, self._release, work.after)
        self._level.release(work.seats - work.after)

    def _release(self, seats: int) -> None:
        self._usage.further_seats -= seats
        self._level.release(seats)

    def _observe(self, work: Work) -> None:
        """Record the figures of a request that ends."""
        names = self._level.name, self._schema_name
        elapsed = time.perf_counter() - work.begun
        kind = "watch" if self.is_watch else "regular"
        self._samples.observe(elapsed, _EXECUTIONS, *names, kind)
        self._samples.observe(work.seats, _ESTIMATES, *names)


@dataclass(slots=True)
class _FlowSchemas:
    """The schemas sorted by precedence, and the known flows of requests."""

    schemas: list[tuple[Object, Head, Level]]
    """Each with its headers and its level."""
    users: defaultdict[User, dict[str, Flow | None]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    """The flows of each user, by the keys of requests (`RequestInfo.flow_key`)."""
    count: int = 0
    """How many flows are known."""
    user: User | None = None
    """The user of the last request, because the hash of a user takes long."""
    flows: dict[str, Flow | None] = field(default_factory=dict)
    """The flows of that user."""

    def keep(self, user: User, key: str, flow: Flow | None) -> None:
        """Remember a flow of the last user."""
        if self.count >= _MAX_CACHED_FLOWS:
            self.users.clear()
            self.count = 0
            self.flows = self.users[user]
        self.count += 1
        self.flows[key] = flow


class _Reader:
    """Reads the schemas. The cache of the store refers to it instead of the flows, which refer to
    the cache: a cycle would keep a stopped server in memory."""

    def __init__(self, store: Store, pool: Pool, is_enabled: bool) -> None:
        self._store = store
        self._pool = pool
        self._is_enabled = is_enabled
        self.known: _FlowSchemas | None = None
        """The schemas until one changes: every request reads them."""

    def forget(self) -> None:
        """Let the next request read the schemas again."""
        self.known = None

    def read(self) -> _FlowSchemas:
        """Return the stored schemas with their levels."""
        if not self._is_enabled:
            return _FlowSchemas([])
        levels = self._pool.configure(entry.value for entry in self._store.list(_LEVELS))
        every = [entry.value for entry in self._store.list(_SCHEMAS)]
        every.sort(key=lambda schema: (schema["spec"].get("matchingPrecedence", 0), _name(schema)))
        found = ((each, levels.get(_level_of(each))) for each in every)
        # as upstream, a schema without its level matches nothing
        return _FlowSchemas([_with_head(each, level) for each, level in found if level])


class Flows:
    """Assigns requests to the flow schemas of one store. `seats` is the number of requests that run
    at a time; without seats, requests are not classified, nor are those for `endless` paths."""

    def __init__(
        self,
        store: Store,
        resources: Resources,
        samples: Samples,
        seats: int,
        endless: Collection[str] = (),
    ) -> None:
        self.estimator = Estimator(store, resources)
        self._samples = samples
        self._endless = endless
        self._pool = Pool(seats, samples)
        self._reader = _Reader(store, self._pool, seats > 0)
        self._order = StoreCache(store, (_SCHEMAS, _LEVELS), self._reader.read)
        self._order.when_changed(self._reader.forget)

    def _read_again(self) -> _FlowSchemas:
        self._reader.known = self._order.value
        return self._reader.known

    @property
    def are_active(self) -> bool:
        """Whether requests are classified and limited by their flows."""
        return bool(self._order.value.schemas)

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
        """Return the flow of a request; None until a client has read flow schemas, and for requests
        that no schema concerns."""
        order = self._reader.known or self._read_again()
        if user is not order.user:
            if not order.schemas:
                return None
            order.user, order.flows = user, order.users[user]
        try:
            return order.flows[info.flow_key]
        except KeyError:
            flow = self._find(order, info, user)
            order.keep(user, info.flow_key, flow)
            return flow

    def _find(self, order: _FlowSchemas, info: RequestInfo, user: User) -> Flow | None:
        if info.subresource in requests.STREAMING_SUBRESOURCES or info.path in self._endless:
            return None
        matching = (each for each in order.schemas if _matches(each[0]["spec"], info, user))
        found = next(matching, None)
        return None if found is None else self._flow(*found, info, user)

    def _flow(
        self, schema: Object, head: Head, level: Level, info: RequestInfo, user: User
    ) -> Flow:
        """Return the flow of a request that a schema matches (computeFlowDistinguisher)."""
        name = _name(schema)
        method = (schema["spec"].get("distinguisherMethod") or {}).get("type", "")
        part = {"ByUser": user.name, "ByNamespace": info.namespace}.get(method, "")
        hand = level.hand(f"{name}\0{part}")
        return Flow(head, name, level, hand, self._samples, info, self._estimate(info))

    def _estimate(self, info: RequestInfo) -> Estimate | None:
        """Return how the seats of a request are estimated; None for one seat."""
        if not info.is_resource or (info.resource, info.subresource) == _TOKENS:
            return None
        if info.verb == "list" or info.verb in requests.WATCHES:
            return self.estimator.of_list
        return self.estimator.of_write if info.verb in _WRITES else None


def _with_head(schema: Object, level: Level) -> tuple[Object, Head, Level]:
    uid = schema["metadata"]["uid"]
    return schema, Head({_SCHEMA_HEADER: uid, _LEVEL_HEADER: level.uid}), level


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
        and any(
            requests.is_path(pattern, info.path) for pattern in one.get("nonResourceURLs") or ()
        )
        for one in rule.get("nonResourceRules") or ()
    )


def _has(values: Sequence[str] | None, value: str) -> bool:
    return values is not None and (value in values or _EVERY in values)
