"""What built-in kinds do that their data cannot say; `of` finds the strategy of a resource."""

from collections.abc import Callable
from importlib import import_module

from inkube.schemas import caches, lazy, releases
from inkube.schemas.builtin.behaviours.base import BuiltinStrategy
from inkube.schemas.builtin.definitions import by_name
from inkube.schemas.definitions import Definition

__all__ = ["BuiltinStrategy", "of"]
__getattr__ = lazy.exports(__name__)

_Family = dict[str, str]
"""Plural → `module.Class` of this package, imported when the kind is first used."""
_CORE: _Family = {
    "events": "events.CoreEvents",
    "namespaces": "namespaces.Namespaces",
    "nodes": "nodes.Nodes",
    "persistentvolumeclaims": "storagekinds.Claims",
    "persistentvolumes": "storagekinds.Volumes",
    "pods": "pods.pods.Pods",
    "podtemplates": "pods.pods.PodTemplates",
    "replicationcontrollers": "workloads.ReplicationControllers",
    "serviceaccounts": "configuration.Accounts",
    "services": "services.Services",
}
_ADMISSION: _Family = {
    "mutatingadmissionpolicies": "policies.MutatingPolicies",
    "mutatingadmissionpolicybindings": "policies.MutatingBindings",
    "mutatingwebhookconfigurations": "webhookconfigs.WebhookConfigurations",
    "validatingadmissionpolicies": "policies.ValidatingPolicies",
    "validatingadmissionpolicybindings": "policies.ValidatingBindings",
    "validatingwebhookconfigurations": "webhookconfigs.WebhookConfigurations",
}
_APPS: _Family = {
    "controllerrevisions": "workloads.Revisions",
    "daemonsets": "workloads.DaemonSets",
    "deployments": "workloads.Deployments",
    "replicasets": "workloads.ReplicaSets",
    "statefulsets": "workloads.StatefulSets",
}
_GROUPS: dict[str, _Family] = {
    "": _CORE,
    "admissionregistration.k8s.io": _ADMISSION,
    "apiextensions.k8s.io": {"customresourcedefinitions": "definitions.Definitions"},
    "apiregistration.k8s.io": {"apiservices": "apiservices.Registrations"},
    "apps": _APPS,
    "batch": {"cronjobs": "jobs.CronJobs", "jobs": "jobs.Jobs"},
    "certificates.k8s.io": {"certificatesigningrequests": "certificates.SigningRequests"},
    "discovery.k8s.io": {"endpointslices": "services.EndpointSlices"},
    "events.k8s.io": {"events": "events.Events"},
    "flowcontrol.apiserver.k8s.io": {
        "flowschemas": "flowcontrol.FlowSchemas",
        "prioritylevelconfigurations": "flowcontrol.PriorityLevels",
    },
    "resource.k8s.io": {
        "resourceclaims": "devices.Claims",
        "resourceclaimtemplates": "devices.Templates",
        "resourceslices": "devices.Slices",
    },
}


@caches.of_values(512)
def of(group: str, plural: str, minor: int = releases.NEWEST.minor) -> BuiltinStrategy:
    """The strategy of a built-in resource in a minor. Raises KeyError for an unknown one."""
    definition = by_name(minor)[group, plural]
    home = _GROUPS.get(group, {}).get(plural)
    if home is None:
        return BuiltinStrategy(definition)
    module, _, name = home.rpartition(".")
    found: Callable[[Definition], BuiltinStrategy] = getattr(
        import_module(f"{__name__}.{module}"), name
    )
    return found(definition)
