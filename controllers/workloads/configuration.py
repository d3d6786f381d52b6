"""What lives on a server with workloads: the table of controllers, and what a user chooses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CONTROLLERS = (
    "deployment-controller",
    "replicaset-controller",
    "replicationcontroller-controller",
    "statefulset-controller",
    "daemonset-controller",
    "job-controller",
    "ttl-after-finished-controller",
    "cronjob-controller",
    "endpoints-controller",
    "endpointslice-controller",
    "endpointslice-mirroring-controller",
    "disruption-controller",
    "horizontal-pod-autoscaler-controller",
    "persistentvolume-binder-controller",
    "persistentvolumeclaim-protection-controller",
    "persistentvolume-protection-controller",
    "volumeattributesclass-protection-controller",
    "ephemeral-volume-controller",
    "serviceaccount-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-token-controller",
    "certificatesigningrequest-signing-controller",
    "node-lifecycle-controller",
    "taint-eviction-controller",
    "pod-garbage-collector-controller",
    "kube-scheduler",
    "kubelet",
)
"""Names of the controllers, in the order they are started."""
_SUFFIX = "-controller"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workloads:
    """Simulated workloads: the number of nodes, the stages of their kubelets, the controllers."""

    nodes: int = 2
    """Simulated nodes `kube-node-1` … that are there from the start."""
    stages: Sequence[Path | str | Mapping[str, Any]] = ()
    """Stages beside the built-in ones: names of built-in sets, files, folders, or objects."""
    bare_pods_run: bool = False
    """Whether pods that nobody owns run on although their restartPolicy lets them end: by default
    they complete after a second, or when the `sleep` is over that is their command."""
    pods: Sequence[Any] = ()
    """Python functions that containers run, by their image (see `inkube.pod`), or the Python files
    they stand in."""
    controllers: frozenset[str] | set[str] | None = None
    """Names of the controllers that run, `-controller` may be left out; None: all of them."""
    system_pods: bool = False
    """Whether kube-system has what a cluster has there: coredns, kube-proxy and metrics-server, as
    simulated pods."""
    kubelet_events: bool = False
    """Whether kubelets write events of each container (Pulling, Pulled, Created, Started, Killing,
    BackOff): what they cost is of use to people, seldom to tests."""
    metrics: bool = True
    """Whether metrics.k8s.io is served."""
    manage_all_nodes: bool = False
    """Whether nodes without KWOK's annotation are simulated too."""
    allow_local: bool = False
    """Whether KWOK's kinds may read files and run programs of this machine."""
    autoscaler_period: float = 15.0
    """Seconds between two looks of the HorizontalPodAutoscaler controller at an object."""
    seed: int = 0
    """Of jitter and weights: the same seed gives the same order of events."""

    def __post_init__(self) -> None:
        """Refuse names of controllers that do not exist. Raises ValueError."""
        unknown = sorted(set(self.controllers or ()) - {*CONTROLLERS, *map(_short, CONTROLLERS)})
        if unknown:
            known = ", ".join(CONTROLLERS)
            raise ValueError(f"no such controllers: {', '.join(unknown)}; there are {known}")

    def runs(self, name: str) -> bool:
        """Whether the controller of that name runs."""
        wanted = self.controllers
        return wanted is None or name in wanted or _short(name) in wanted


def _short(name: str) -> str:
    return name.removesuffix(_SUFFIX)
