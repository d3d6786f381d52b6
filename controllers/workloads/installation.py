"""Adds the controllers that a configuration names to the manager."""

from collections.abc import Callable, Mapping

from inkube.controllers.workloads import starts
from inkube.controllers.workloads.cluster import Cluster
from inkube.controllers.workloads.configuration import Workloads
from inkube.kinds import Manager, ServerAccess

STARTS: Mapping[str, Callable[[], Callable[[Cluster], None]]] = {
    "deployment-controller": lambda: starts.deployments.add,
    "replicaset-controller": lambda: starts.replicasets.add,
    "replicationcontroller-controller": lambda: starts.replicasets.add_old,
    "statefulset-controller": lambda: starts.statefulsets.add,
    "daemonset-controller": lambda: starts.daemonsets.add,
    "job-controller": lambda: starts.controller.add,
    "ttl-after-finished-controller": lambda: starts.expiry.add,
    "cronjob-controller": lambda: starts.cronjobs.add,
    "endpoints-controller": lambda: starts.endpoints.add,
    "endpointslice-controller": lambda: starts.slices.add,
    "endpointslice-mirroring-controller": lambda: starts.mirroring.add,
    "disruption-controller": lambda: starts.disruption.add,
    "horizontal-pod-autoscaler-controller": lambda: starts.autoscaler.add,
    "persistentvolume-binder-controller": lambda: starts.binder.add,
    "persistentvolumeclaim-protection-controller": lambda: starts.protection.add_claims,
    "persistentvolume-protection-controller": lambda: starts.protection.add_volumes,
    "volumeattributesclass-protection-controller": lambda: starts.protection.add_classes,
    "ephemeral-volume-controller": lambda: starts.ephemeral.add,
    "serviceaccount-controller": lambda: starts.namespaces.add_accounts,
    "root-ca-certificate-publisher-controller": lambda: starts.namespaces.add_authority,
    "serviceaccount-token-controller": lambda: starts.tokens.add,
    "certificatesigningrequest-signing-controller": lambda: starts.signing.add,
    "node-lifecycle-controller": lambda: starts.lifecycle.add,
    "taint-eviction-controller": lambda: starts.eviction.add,
    "pod-garbage-collector-controller": lambda: starts.garbage.add,
    "kube-scheduler": lambda: starts.scheduler.add,
    "kubelet": lambda: starts.kubelet.add,
}
"""Name of each of `CONTROLLERS`, in order → a function that loads and returns its `add`."""


def add(manager: Manager, config: Workloads, server: ServerAccess) -> Cluster:
    """Add the controllers that `config` names to the manager, and return their shared cluster."""
    cluster = Cluster(manager, config, server)
    for name, start in STARTS.items():
        if config.runs(name):
            start()(cluster)
    return cluster
