"""The flow schema that matches a request, and its priority level.

It queues no requests, but responses have the same two headers as with upstream's priority and
fairness. Schemas are read from memory, and sorted again after one of them changed. Follows
apiserver/pkg/util/flowcontrol (rule.go, apf_controller.go) and pkg/server/filters
(priority-and-fairness.go).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from inkube.apiserver.http import RequestInfo
from inkube.apiserver.registry import StoreCache, User, keys
from inkube.schemas.objects import Object
from inkube.storage import Entry, Store

_SCHEMAS = keys.prefix("flowschemas")
_LEVELS = keys.prefix("prioritylevelconfigurations")
_EVERY = "*"
_MAX_CACHED_FLOWS = 1024  # users and addresses with a known flow


class Flow(NamedTuple):
    """The values of the two headers."""

    schema: str
    """The uid of the flow schema."""
    level: str
    """The uid of its priority level, or "" without one."""


@dataclass(slots=True)
class _FlowSchemas:
    """The schemas sorted by precedence, and the known flows of requests."""

    schemas: list[tuple[Object, Flow]]
    flows: dict[tuple[Any, ...], Flow | None] = field(default_factory=dict)


class Flows:
    """Assigns requests to the flow schemas of one store."""

    def __init__(self, store: Store) -> None:
        self._order = StoreCache(store, (_SCHEMAS, _LEVELS), partial(_read, store))

    def of(self, info: RequestInfo, user: User) -> Flow | None:
        """The flow of a request; None until a client has read flow schemas."""
        order = self._order.value
        if not order.schemas:
            return None
        key = (
            user.name, user.groups, info.verb, info.group, info.resource, info.subresource,
            info.namespace, "" if info.is_resource else info.path,
        )  # fmt: skip
        if key not in order.flows:
            if len(order.flows) >= _MAX_CACHED_FLOWS:
                order.flows.clear()
            matching = (flow for schema, flow in order.schemas if _matches(schema, info, user))
            order.flows[key] = next(matching, None)
        return order.flows[key]


def _read(store: Store) -> _FlowSchemas:
    return _FlowSchemas(_by_precedence(store.list(_SCHEMAS), store.list(_LEVELS)))


def _by_precedence(
    schema_entries: Sequence[Entry], level_entries: Sequence[Entry]
) -> list[tuple[Object, Flow]]:
    levels = {entry.value["metadata"]["name"]: entry.value for entry in level_entries}
    flows = []
    for entry in schema_entries:
        spec, meta = entry.value.get("spec") or {}, entry.value["metadata"]
        level = levels.get((spec.get("priorityLevelConfiguration") or {}).get("name", ""))
        flow = Flow(meta["uid"], level["metadata"]["uid"] if level else "")
        flows.append((spec.get("matchingPrecedence", 0), meta["name"], spec, flow))
    return [(spec, flow) for _, _, spec, flow in sorted(flows, key=lambda flow: flow[:2])]


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
