"""The strategies of built-in kinds. A strategy with its own code is loaded with its kind."""

from collections.abc import Callable, Mapping

from inkube.schemas import caches, releases
from inkube.schemas.builtin import strategies
from inkube.schemas.builtin.kinddefinitions import by_name
from inkube.schemas.builtin.strategies.base import BuiltinStrategy
from inkube.schemas.definitions import Definition

_Make = Callable[[Definition], BuiltinStrategy]
_Family = Mapping[str, Callable[[], _Make]]
"""Plural → a function that returns the class of its strategy, and loads it at the first use."""
_CORE: _Family = {
    "namespaces": lambda: strategies.namespaces.Namespaces,
    "nodes": lambda: strategies.nodes.Nodes,
    "persistentvolumeclaims": lambda: strategies.volumes.Claims,
    "persistentvolumes": lambda: strategies.volumes.Volumes,
    "pods": lambda: strategies.pods.Pods,
    "serviceaccounts": lambda: strategies.serviceaccounts.Accounts,
    "services": lambda: strategies.services.Services,
}
_APPS: _Family = {
    "daemonsets": lambda: strategies.workloads.DaemonSets,
}
_GROUPS: Mapping[str, _Family] = {
    "": _CORE,
    "apiextensions.k8s.io": {"customresourcedefinitions": lambda: strategies.crds.Definitions},
    "apiregistration.k8s.io": {"apiservices": lambda: strategies.apiservices.Registrations},
    "apps": _APPS,
    "autoscaling": {"horizontalpodautoscalers": lambda: strategies.autoscalers.Autoscalers},
    "batch": {"jobs": lambda: strategies.jobs.Jobs},
    "certificates.k8s.io": {
        "certificatesigningrequests": lambda: strategies.certificates.SigningRequests
    },
    "discovery.k8s.io": {"endpointslices": lambda: strategies.services.EndpointSlices},
    "events.k8s.io": {"events": lambda: strategies.events.Events},
    "resource.k8s.io": {
        "resourceclaims": lambda: strategies.devices.Claims,
        "resourceclaimtemplates": lambda: strategies.devices.Templates,
        "resourceslices": lambda: strategies.devices.Slices,
    },
    "storage.k8s.io": {"csidrivers": lambda: strategies.volumes.Drivers},
}


@caches.of_values(512)
def strategy_of(group: str, plural: str, minor: int = releases.NEWEST.minor) -> BuiltinStrategy:
    """Return the strategy of a built-in resource in a minor version. Raises KeyError for an unknown
    one."""
    definition = by_name(minor)[group, plural]
    found = _GROUPS.get(group, {}).get(plural)
    return BuiltinStrategy(definition) if found is None else found()(definition)
