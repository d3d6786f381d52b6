"""Adds the controllers that a configuration names to the manager."""

from collections.abc import Callable, Mapping

from inkube.controllers.workloads.cluster import Cluster
from inkube.controllers.workloads.configuration import Workloads
from inkube.kinds import Manager, ServerAccess
from inkube.schemas import lazy

STARTS: Mapping[str, tuple[str, str]] = {
    "deployment-controller": ("deployments", "add"),
    "replicaset-controller": ("replicasets", "add"),
    "replicationcontroller-controller": ("replicasets", "add_old"),
    "statefulset-controller": ("statefulsets", "add"),
    "daemonset-controller": ("daemonsets", "add"),
    "job-controller": ("jobs.controller", "add"),
    "ttl-after-finished-controller": ("jobs.expiry", "add"),
    "cronjob-controller": ("cronjobs", "add"),
    "endpoints-controller": ("services.endpoints", "add"),
    "endpointslice-controller": ("services.slices", "add"),
    "endpointslice-mirroring-controller": ("services.mirroring", "add"),
    "disruption-controller": ("disruption", "add"),
    "horizontal-pod-autoscaler-controller": ("autoscaler", "add"),
    "persistentvolume-binder-controller": ("volumes.binder", "add"),
    "persistentvolumeclaim-protection-controller": ("volumes.protection", "add_claims"),
    "persistentvolume-protection-controller": ("volumes.protection", "add_volumes"),
    "volumeattributesclass-protection-controller": ("volumes.protection", "add_classes"),
    "ephemeral-volume-controller": ("volumes.ephemeral", "add"),
    "serviceaccount-controller": ("accounts.namespaces", "add_accounts"),
    "root-ca-certificate-publisher-controller": ("accounts.namespaces", "add_authority"),
    "serviceaccount-token-controller": ("accounts.tokens", "add"),
    "certificatesigningrequest-signing-controller": ("accounts.signing", "add"),
    "node-lifecycle-controller": ("machines.lifecycle", "add"),
    "taint-eviction-controller": ("machines.eviction", "add"),
    "pod-garbage-collector-controller": ("machines.garbage", "add"),
    "resourceclaim-controller": ("devices.controller", "add"),
    "device-taint-eviction-controller": ("devices.eviction", "add"),
    "kube-scheduler": ("scheduler", "add"),
    "kubelet": ("kubelet", "add"),
}
"""Name of each of `CONTROLLERS`, in order → the module of this room, which is
loaded with the controller, and its function that adds it to a `Cluster`. Loading all modules takes
0.3 s, loading one of them a tenth of that."""


def add(manager: Manager, config: Workloads, server: ServerAccess) -> Cluster:
    """Add the controllers that `config` names to the manager, and return their shared cluster."""
    cluster = Cluster(manager, config, server)
    for name in STARTS:
        if config.runs(name):
            start_of(name)(cluster)
    return cluster


def start_of(name: str) -> Callable[[Cluster], None]:
    """Load the module of a controller, and return the function that adds it."""
    module, function = STARTS[name]
    start: Callable[[Cluster], None] = lazy.named(f"{__package__}.{module}", function)
    return start
