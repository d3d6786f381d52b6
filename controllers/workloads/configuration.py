"""The configuration of workloads: the names of the controllers, and the options of a user."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inkube.kinds import option

GROUP = "Controllers and workloads"
"""The heading in the help of the command line."""
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
    "resourceclaim-controller",
    "device-taint-eviction-controller",
    "kube-scheduler",
    "kubelet",
)
"""Names of the controllers, in the order of their start."""
_SUFFIX = "-controller"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workloads:
    """Simulated workloads: the number of nodes, the stages of their kubelets, the controllers."""

    nodes: int = option(
        2,
        "Number of simulated nodes of `--workloads`. The server creates them at its start, as "
        "`kube-node-1` and so on.",
        group=GROUP,
    )
    stages: Sequence[Path | str | Mapping[str, Any]] = option(
        (),
        "Additional stages: names of built-in sets, files or folders. In Python, also objects.",
        group=GROUP,
    )
    pods: Sequence[Any] = option(
        (),
        "Python files with functions that containers run. In Python, also the functions (see "
        "`inkube.pod`). A function is run by containers with a matching image.",
        group=GROUP,
    )
    system_pods: bool = option(
        False,
        "Simulate coredns, kube-proxy and metrics-server as pods in kube-system.",
        group=GROUP,
    )
    bare_pods_run: bool = option(
        False,
        "Pods without owners do not end. By default, they complete after a second, or when the "
        "`sleep` that is their command ends, if their restartPolicy permits it.",
        group=GROUP,
    )
    controllers: frozenset[str] | set[str] | None = None
    """Names of the controllers that run, with or without `-controller`; None: all controllers."""
    kubelet_events: bool = False
    """Whether kubelets write events of each container (Pulling, Pulled, Created, Started, Killing,
    BackOff). They help users, but tests seldom need them and they take time."""
    metrics: bool = True
    """Whether the server serves metrics.k8s.io."""
    manage_all_nodes: bool = False
    """Whether nodes without KWOK's annotation are also simulated."""
    allow_local: bool = False
    """Whether KWOK's kinds can read files and run programs of this machine."""
    autoscaler_period: float = 15.0
    """Seconds between two checks of an object by the HorizontalPodAutoscaler controller."""
    seed: int = 0
    """The seed for jitter and weights. The same seed causes the same order of events."""

    def __post_init__(self) -> None:
        """Raises ValueError for a negative number of nodes, and if a controller does not exist."""
        if self.nodes < 0:
            raise ValueError(f"nodes: must be 0 or more, not {self.nodes}")
        unknown = sorted(set(self.controllers or ()) - {*CONTROLLERS, *map(_short, CONTROLLERS)})
        if unknown:
            known = ", ".join(CONTROLLERS)
            raise ValueError(f"no such controllers: {', '.join(unknown)}; there are {known}")

    def runs(self, name: str) -> bool:
        """Return whether the controller with this name runs."""
        wanted = self.controllers
        return wanted is None or name in wanted or _short(name) in wanted


def _short(name: str) -> str:
    return name.removesuffix(_SUFFIX)
