"""The strategies of built-in kinds. A strategy with its own code is loaded with its kind."""

from collections.abc import Callable, Mapping

from inkube.schemas import caches, releases
from inkube.schemas.builtin import behaviours
from inkube.schemas.builtin.behaviours.base import BuiltinStrategy
from inkube.schemas.builtin.definitions import by_name
from inkube.schemas.definitions import Definition

_Make = Callable[[Definition], BuiltinStrategy]
_Family = Mapping[str, Callable[[], _Make]]
"""Plural → a function that returns the class of its strategy, and loads it at the first use."""
_CORE: _Family = {
    "events": lambda: behaviours.events.CoreEvents,
    "namespaces": lambda: behaviours.namespaces.Namespaces,
    "nodes": lambda: behaviours.nodes.Nodes,
    "persistentvolumeclaims": lambda: behaviours.storagekinds.Claims,
    "persistentvolumes": lambda: behaviours.storagekinds.Volumes,
    "pods": lambda: behaviours.pods.Pods,
    "podtemplates": lambda: behaviours.pods.PodTemplates,
    "replicationcontrollers": lambda: behaviours.workloads.ReplicationControllers,
    "serviceaccounts": lambda: behaviours.configuration.Accounts,
    "services": lambda: behaviours.services.Services,
}
_APPS: _Family = {
    "daemonsets": lambda: behaviours.workloads.DaemonSets,
    "deployments": lambda: behaviours.workloads.Deployments,
    "replicasets": lambda: behaviours.workloads.ReplicaSets,
    "statefulsets": lambda: behaviours.workloads.StatefulSets,
}
_GROUPS: Mapping[str, _Family] = {
    "": _CORE,
    "apiextensions.k8s.io": {
        "customresourcedefinitions": lambda: behaviours.definitions.Definitions
    },
    "apiregistration.k8s.io": {"apiservices": lambda: behaviours.apiservices.Registrations},
    "apps": _APPS,
    "batch": {"cronjobs": lambda: behaviours.jobs.CronJobs, "jobs": lambda: behaviours.jobs.Jobs},
    "certificates.k8s.io": {
        "certificatesigningrequests": lambda: behaviours.certificates.SigningRequests
    },
    "discovery.k8s.io": {"endpointslices": lambda: behaviours.services.EndpointSlices},
    "events.k8s.io": {"events": lambda: behaviours.events.Events},
    "resource.k8s.io": {
        "resourceclaims": lambda: behaviours.devices.Claims,
        "resourceclaimtemplates": lambda: behaviours.devices.Templates,
        "resourceslices": lambda: behaviours.devices.Slices,
    },
}


@caches.of_values(512)
def of(group: str, plural: str, minor: int = releases.NEWEST.minor) -> BuiltinStrategy:
    """The strategy of a built-in resource in a minor version. Raises KeyError if it is unknown."""
    definition = by_name(minor)[group, plural]
    found = _GROUPS.get(group, {}).get(plural)
    return BuiltinStrategy(definition) if found is None else found()(definition)
