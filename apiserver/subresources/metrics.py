"""metrics.k8s.io/v1beta1: the current usage of nodes and pods, for `kubectl top` and autoscalers.

Nothing is stored: each request measures again. Without simulated pods, the group is not served.
Follows sigs.k8s.io/metrics-server (pkg/api).
"""

import math
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Protocol

from aiohttp import web

from inkube.apiserver.handlers import Exchange
from inkube.apiserver.http import responses
from inkube.apiserver.registry import Registry
from inkube.schemas import meta, selectors, status
from inkube.schemas.definitions import Definition, Names, Origin, Version
from inkube.schemas.objects import Object

GROUP, VERSION = "metrics.k8s.io", "v1beta1"
WINDOW = "10s"


class Usage(Protocol):
    """The resource usage of pods, as kubelets measure it."""

    def of(self, pod: Object) -> dict[str, dict[str, float]] | None:
        """Return container → resource → amount (cores, bytes), or None without a measurement."""
        ...


def _definition(plural: str, kind: str, *, namespaced: bool) -> Definition:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return Definition(
        GROUP,
        Names(plural, kind, "", f"{kind}List"),
        (Version(VERSION, schema=schema),),
        namespaced=namespaced,
        origin=Origin.PYTHON,
        verbs=("get", "list"),
    )


DEFINITIONS = (
    _definition("nodes", "NodeMetrics", namespaced=False),
    _definition("pods", "PodMetrics", namespaced=True),
)


class Metrics:
    """Serves get and list of PodMetrics and NodeMetrics."""

    def __init__(
        self, registry: Registry, usage: Callable[[], Usage | None], now: Callable[[], datetime]
    ) -> None:
        self._registry = registry
        self._usage = usage
        self._now = now

    def handlers(self) -> Mapping[tuple[str, str, str], Callable[[Exchange], Any]]:
        """(group, plural, "") → handler."""
        return {(GROUP, "nodes", ""): self.nodes, (GROUP, "pods", ""): self.pods}

    async def pods(self, exchange: Exchange) -> web.StreamResponse:
        """Return PodMetrics, or a list of them. Raises StatusError."""
        request = exchange.request
        _check_verb(exchange)
        if request.name:
            entry = self._registry.store.get(f"/registry/pods/{request.namespace}/{request.name}")
            measured = self._of_pod(entry.value) if entry is not None else None
            if measured is None:
                raise status.not_found(GROUP, "pods", f"{request.namespace}/{request.name}")
            return _respond(exchange, measured)
        found = (self._of_pod(pod) for pod in matching(exchange, self._pods(request.namespace)))
        return _respond(exchange, _list("PodMetricsList", found))

    async def nodes(self, exchange: Exchange) -> web.StreamResponse:
        """Return NodeMetrics, or a list of them: the sums of their pods. Raises StatusError."""
        request = exchange.request
        _check_verb(exchange)
        by_node: dict[str, list[Object]] = {}
        for pod in self._pods(""):
            by_node.setdefault(pod["spec"].get("nodeName") or "", []).append(pod)
        if request.name:
            entry = self._registry.store.get(f"/registry/nodes/{request.name}")
            if entry is None:
                raise status.not_found(GROUP, "nodes", request.name)
            return _respond(exchange, self._of_node(entry.value, by_node.get(request.name, [])))
        nodes = [entry.value for entry in self._registry.store.list("/registry/nodes/")]
        found = (
            self._of_node(node, by_node.get(node["metadata"]["name"], []))
            for node in matching(exchange, nodes)
        )
        return _respond(exchange, _list("NodeMetricsList", found))

    def _pods(self, namespace: str) -> Iterable[Object]:
        where = f"/registry/pods/{namespace}/" if namespace else "/registry/pods/"
        return (entry.value for entry in self._registry.store.list(where))

    def _usage_of(self, pod: Object) -> dict[str, dict[str, float]] | None:
        usage = self._usage()
        return usage.of(pod) if usage is not None else None

    def _of_pod(self, pod: Object) -> Object | None:
        used = self._usage_of(pod)
        if used is None:
            return None
        containers = [{"name": name, "usage": _quantities(own)} for name, own in used.items()]
        return self._object("PodMetrics", pod, containers=containers)

    def _of_node(self, node: Object, pods: Iterable[Object]) -> Object:
        total = {"cpu": 0.0, "memory": 0.0}
        for pod in pods:
            for own in (self._usage_of(pod) or {}).values():
                for resource, amount in own.items():
                    total[resource] += amount
        return self._object("NodeMetrics", node, usage=_quantities(total))

    def _object(self, kind: str, of: Object, **content: Any) -> Object:
        now, own = meta.format_time(self._now()), of["metadata"]
        metadata = {"name": own["name"], "creationTimestamp": now}
        for member in ("namespace", "labels"):
            if own.get(member):
                metadata[member] = own[member]
        head = {"kind": kind, "apiVersion": f"{GROUP}/{VERSION}", "metadata": metadata}
        return {**head, "timestamp": now, "window": WINDOW, **content}


def _check_verb(exchange: Exchange) -> None:
    request = exchange.request
    if request.verb not in ("get", "list"):
        raise status.method_not_allowed_on(GROUP, request.resource.plural, request.verb)


def matching(exchange: Exchange, objects: Iterable[Object]) -> Iterable[Object]:
    """Return the objects that match the label selector and `metadata.name` in the field
    selector."""
    query = exchange.query
    terms = selectors.LabelConditions(selectors.parse_labels(query.get("labelSelector", "")))
    name = selectors.selected_name(query.get("fieldSelector", ""))
    for obj in objects:
        labels = obj["metadata"].get("labels") or {}
        if terms.match(labels) and name in ("", obj["metadata"]["name"]):
            yield obj


def _list(kind: str, items: Iterable[Object | None]) -> Object:
    found = [item for item in items if item is not None]
    head = {"kind": kind, "apiVersion": f"{GROUP}/{VERSION}", "metadata": {}}
    return {**head, "items": found}


def _quantities(usage: Mapping[str, float]) -> dict[str, str]:
    """Return amounts in the units of metrics-server: nanocores and Ki."""
    found = {}
    if "cpu" in usage:
        found["cpu"] = f"{math.ceil(usage['cpu'] * 1e9)}n" if usage["cpu"] else "0"
    if "memory" in usage:
        found["memory"] = f"{math.ceil(usage['memory'] / 1024)}Ki"
    return found


def _respond(exchange: Exchange, value: Object) -> web.StreamResponse:
    return responses.render(value, exchange.form.without_transform())
