"""The definitions of built-in kinds. Their schemas and columns are created at the first access."""

import dataclasses
from collections.abc import Callable
from typing import Any

from inkube.schemas import caches, releases
from inkube.schemas.builtin import columns, fields, resources
from inkube.schemas.definitions import Definition, Names, Origin, Scale, Version
from inkube.schemas.gotypes import table
from inkube.schemas.meta import GVK

_DEPRECATED = {
    "endpoints": (
        33,
        "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
    ),
    "componentstatuses": (19, "v1 ComponentStatus is deprecated in v1.19+"),
}
"""Deprecated kinds of the core group, with the first minor that warns about them."""
_UNDECIDED = {
    "jobs": (
        "child pods are preserved by default when jobs are deleted; set "
        "propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress "
        "this warning"
    )
}
_SYSTEM_CLASSES = ("system-cluster-critical", "system-node-critical")
_PERMANENT = {
    "priorityclasses": (_SYSTEM_CLASSES, "this is a system priority class and cannot be deleted")
}
_SCALE = Scale(".spec.replicas", ".status.replicas", ".status.selector")


class LazyVersion(Version):
    """A version with attributes that `makers` create at the first access."""

    __slots__ = ("_makers",)

    _makers: dict[str, Callable[[], Any]]

    def __init__(self, makers: dict[str, Callable[[], Any]], **others: Any) -> None:
        super().__init__(**others)
        object.__setattr__(self, "_makers", makers)
        for name in makers:
            object.__delattr__(self, name)

    def not_served(self) -> "LazyVersion":
        """Return the same version, which clients cannot request."""
        known = {field.name: getattr(self, field.name) for field in dataclasses.fields(Version)}
        made = {name: value for name, value in known.items() if name not in self._makers}
        return LazyVersion(self._makers, **{**made, "served": False})

    def __getattr__(self, name: str) -> Any:
        if name not in self._makers:
            raise AttributeError(name)
        made = self._makers[name]()
        object.__setattr__(self, name, made)
        return made


_MINORS = len(releases.RECORDED)


@caches.of_values(_MINORS)
def definitions(minor: int = releases.NEWEST.minor) -> tuple[Definition, ...]:
    """Return the definition of every built-in kind of a minor, groups in the order of discovery."""
    return tuple(_definition(resource, minor) for resource in resources.read(minor))


@caches.of_values(_MINORS)
def by_name(minor: int = releases.NEWEST.minor) -> dict[tuple[str, str], Definition]:
    """Return the definitions of `definitions`, by (group, plural)."""
    return {(found.group, found.names.plural): found for found in definitions(minor)}


def _definition(resource: resources.Resource, minor: int) -> Definition:
    return Definition(
        group=resource.group,
        names=_names(resource),
        versions=tuple(_version(resource, name, minor) for name in resource.versions),
        namespaced=resource.namespaced,
        origin=Origin.BUILTIN,
        minor=minor,
        verbs=resource.verbs,
        undecided_warning=_UNDECIDED.get(resource.plural, ""),
        permanent=_PERMANENT.get(resource.plural, ((), "")),
        **{"unconditional_update": True, "relaxed_subresources": True, **resource.flags},
    )


def _names(resource: resources.Resource) -> Names:
    return Names(
        plural=resource.plural,
        kind=resource.kind,
        singular=resource.kind.lower(),
        list_kind=f"{resource.kind}List",
        short_names=resource.short_names,
        categories=resource.categories,
    )


def _version(resource: resources.Resource, name: str, minor: int) -> LazyVersion:
    gvk = GVK(resource.group, name, resource.kind)
    has = {sub.name for sub in resource.subresources}
    since, warning = _DEPRECATED.get(resource.plural, (0, "")) if not resource.group else (0, "")
    if minor < since:
        warning = ""
    makers: dict[str, Callable[[], Any]] = {
        "schema": lambda: table.schema(gvk, minor),
        "columns": lambda: columns.of(resource.group, resource.plural, minor),
    }
    return LazyVersion(
        makers,
        name=name,
        storage=name == resource.stored,
        status="status" in has,
        scale=_SCALE if "scale" in has else None,
        subresources=resource.subresources,
        selectable_fields=fields.of(
            resource.group, resource.plural, namespaced=resource.namespaced
        ),
        unknown_field=fields.refusal(resource.group, resource.plural, name),
        deprecated=bool(warning),
        deprecation_warning=warning,
    )
