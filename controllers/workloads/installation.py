"""The controllers that a configuration names, put to work."""

from collections.abc import Callable, Mapping

from inkube.controllers.manager import Manager
from inkube.controllers.workloads import (
    autoscaler,
    cronjobs,
    daemonsets,
    deployments,
    disruption,
    kubelet,
    replicasets,
    scheduler,
    statefulsets,
)
from inkube.controllers.workloads.accounts import namespaces, signing, tokens
from inkube.controllers.workloads.cluster import Cluster, Outside
from inkube.controllers.workloads.configuration import Workloads
from inkube.controllers.workloads.jobs import controller, expiry
from inkube.controllers.workloads.machines import eviction, garbage, lifecycle
from inkube.controllers.workloads.services import endpoints, mirroring, slices
from inkube.controllers.workloads.volumes import binder, ephemeral, protection

STARTS: Mapping[str, Callable[[Cluster], None]] = {
    "deployment-controller": deployments.add,
    "replicaset-controller": replicasets.add,
    "replicationcontroller-controller": replicasets.add_old,
    "statefulset-controller": statefulsets.add,
    "daemonset-controller": daemonsets.add,
    "job-controller": controller.add,
    "ttl-after-finished-controller": expiry.add,
    "cronjob-controller": cronjobs.add,
    "endpoints-controller": endpoints.add,
    "endpointslice-controller": slices.add,
    "endpointslice-mirroring-controller": mirroring.add,
    "disruption-controller": disruption.add,
    "horizontal-pod-autoscaler-controller": autoscaler.add,
    "persistentvolume-binder-controller": binder.add,
    "persistentvolumeclaim-protection-controller": protection.add_claims,
    "persistentvolume-protection-controller": protection.add_volumes,
    "volumeattributesclass-protection-controller": protection.add_classes,
    "ephemeral-volume-controller": ephemeral.add,
    "serviceaccount-controller": namespaces.add_accounts,
    "root-ca-certificate-publisher-controller": namespaces.add_authority,
    "serviceaccount-token-controller": tokens.add,
    "certificatesigningrequest-signing-controller": signing.add,
    "node-lifecycle-controller": lifecycle.add,
    "taint-eviction-controller": eviction.add,
    "pod-garbage-collector-controller": garbage.add,
    "kube-scheduler": scheduler.add,
    "kubelet": kubelet.add,
}
"""What starts each of `CONTROLLERS`, in their order."""


def add(manager: Manager, config: Workloads, outside: Outside) -> Cluster:
    """Let the manager run the controllers that `config` names."""
    cluster = Cluster(manager, config, outside)
    for name, start in STARTS.items():
        if config.runs(name):
            start(cluster)
    return cluster
