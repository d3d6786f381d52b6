"""The built-in kinds of a server.

Input: a minor of Kubernetes, options of built-in kinds, and the store that some strategies read.
Output: the table of served kinds, which creates a `Resource` at the first lookup of a kind.
`root.core` calls it.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from inkube.apiserver.registry import LazyKinds, Resource, Resources, keys
from inkube.schemas import builtin, caches, releases
from inkube.schemas.builtin import served, strategies
from inkube.schemas.definitions import Definition
from inkube.schemas.strategy import Strategy
from inkube.storage import Change, Store

MakeStrategy = Callable[[], Strategy]
_DEVICES = "resource.k8s.io"
_SAME_OBJECTS = {
    ("", "events"): (("events.k8s.io", "events"),),
    ("events.k8s.io", "events"): (("", "events"),),
}
"""The other resources with the objects of a resource."""


def resources(
    store: Store, minor: int, *, cidrs: str, node_ports: range, runtime_config: Sequence[str]
) -> Resources:
    """Return a table with every built-in kind of a minor, except what `runtime_config` switches
    off. Services get cluster IPs from `cidrs`. The events of both groups are the same objects.
    Raises ValueError for an invalid `runtime_config`."""
    config = _read(runtime_config) if runtime_config else None
    definitions = _served_definitions(minor, config)
    of_server: dict[tuple[str, str], MakeStrategy] = {
        ("", "services"): partial(_services_of, store, cidrs, node_ports, minor),
        **_claims_of(store, minor),
    }

    def create(table: Resources, group: str, plural: str) -> Resource:
        name = group, plural
        strategy = of_server.get(name) or partial(builtin.strategy_of, *name, minor)
        stored_as = table.get("", "events") if name == ("events.k8s.io", "events") else None
        also = [
            served.of(definition, version)
            for definition in map(definitions.get, _SAME_OBJECTS.get(name, ()))
            if definition is not None
            for version in definition.versions
        ]
        return Resource(
            definitions[name], strategy, serve=served.of, stored_as=stored_as, also=also
        )

    names = _kinds(minor) if config is None else _kinds_of(definitions)
    table = Resources()
    table.install_lazy(LazyKinds(*names, create))
    return table


_WITHOUT_KINDS = frozenset({"internal.apiserver.k8s.io", "storagemigration.k8s.io"})
"""Groups of Kubernetes without kinds that are served here."""


def _read(texts: Sequence[str]) -> "builtin.runtimeconfig.RuntimeConfig":
    """Read a runtime configuration. A program knows the groups of its own version, whatever minor
    it serves. Raises ValueError."""
    groups = {group for group, _ in builtin.by_name(releases.NEWEST.minor)}
    return builtin.runtimeconfig.RuntimeConfig.read(texts, groups | _WITHOUT_KINDS)


def _served_definitions(
    minor: int, config: "builtin.runtimeconfig.RuntimeConfig | None"
) -> Mapping[tuple[str, str], Definition]:
    definitions = builtin.by_name(minor)
    if config is None:
        return definitions
    kept, place = {}, builtin.runtimeconfig.Place
    for (group, plural), definition in definitions.items():
        versions = [
            version if config.is_on(place(group, version.name, plural)) else version.not_served()
            for version in definition.versions
        ]
        if any(version.served for version in versions):
            kept[group, plural] = dataclasses.replace(definition, versions=tuple(versions))
    if ("", "namespaces") not in kept:  # kube-apiserver ends with a panic or a failed hook
        raise ValueError("the runtime configuration must leave /v1/namespaces on")
    return kept


@caches.of_values(len(releases.RECORDED))
def _kinds(minor: int) -> tuple[Mapping[tuple[str, str], str], Mapping[tuple[str, str], str]]:
    """Return kinds by group and plural, and plurals by group and kind."""
    return _kinds_of(builtin.by_name(minor))


def _kinds_of(
    definitions: Mapping[tuple[str, str], Definition],
) -> tuple[Mapping[tuple[str, str], str], Mapping[tuple[str, str], str]]:
    kinds = {name: definition.names.kind for name, definition in definitions.items()}
    return kinds, {(group, kind): plural for (group, plural), kind in kinds.items()}


def _services_of(store: Store, cidrs: str, ports: range, minor: int) -> Strategy:
    """Return the strategy of services with cluster IPs from `cidrs` and from ServiceCIDRs, and with
    these node ports, which contains their allocator.

    Created when the first service is written or validated. Raises ValueError.
    """
    allocator = strategies.allocators.Allocator(cidrs, ports)
    _follow_services(store, allocator)
    _follow_ranges(store, allocator)
    _follow_claims(store, allocator)
    return strategies.services.Services(builtin.by_name(minor)["", "services"], allocator)


def _follow_services(store: Store, allocator: "strategies.allocators.Allocator") -> None:
    prefix = keys.prefix("services")

    def load() -> None:
        allocator.load(entry.value for entry in store.list(prefix))

    def on_changes(changes: Sequence[Change]) -> None:
        for change in changes:
            previous = None if change.previous is None else change.previous.value
            is_deleted = change.type == "DELETED"
            allocator.change(previous, None if is_deleted else change.entry.value)

    store.follow(prefix, on_changes, on_relist=load)
    load()


def _follow_ranges(store: Store, allocator: "strategies.allocators.Allocator") -> None:
    prefix = keys.prefix("servicecidrs")

    def load(_: object = None) -> None:
        allocator.use_ranges(entry.value for entry in store.list(prefix))

    store.follow(prefix, load, on_relist=load)
    load()


def _follow_claims(store: Store, allocator: "strategies.allocators.Allocator") -> None:
    prefix = keys.prefix("ipaddresses")

    def load() -> None:
        allocator.claim(entry.value for entry in store.list(prefix))

    def on_changes(changes: Sequence[Change]) -> None:
        for change in changes:
            allocator.change_claim(change.entry.value, is_deleted=change.type == "DELETED")

    store.follow(prefix, on_changes, on_relist=load)
    load()


def _claims_of(store: Store, minor: int) -> Mapping[tuple[str, str], MakeStrategy]:
    """Return the strategies of device claims and their templates, which read the labels of
    namespaces."""

    def labels_of(namespace: str) -> Mapping[str, str]:
        entry = store.get(keys.key("namespaces", "", namespace))
        labels: Mapping[str, str] = (
            {} if entry is None else entry.value["metadata"].get("labels", {})
        )
        return labels

    def claims() -> Strategy:
        return strategies.devices.Claims(
            builtin.by_name(minor)[_DEVICES, "resourceclaims"], labels_of
        )

    def templates() -> Strategy:
        definition = builtin.by_name(minor)[_DEVICES, "resourceclaimtemplates"]
        return strategies.devices.Templates(definition, labels_of)

    return {(_DEVICES, "resourceclaims"): claims, (_DEVICES, "resourceclaimtemplates"): templates}
