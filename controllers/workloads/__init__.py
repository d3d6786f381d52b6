"""Workloads that live: upstream's controllers, a scheduler and simulated nodes. Opt-in.

The composition root calls `add` when a server is wanted with workloads; nobody else imports this
folder but for `Workloads`, and a server without it loads none of it. Each controller is a module
that offers `add(cluster)`; what they share of the server is `cluster.Cluster`. Names are those of
kube-controller-manager's `--controllers`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from inkube.controllers.workloads.configuration import CONTROLLERS, Workloads

if TYPE_CHECKING:
    from inkube.controllers.manager import Manager
    from inkube.controllers.workloads.cluster import Cluster, Outside

__all__ = ["CONTROLLERS", "Workloads", "add"]


def add(manager: "Manager", config: Workloads, outside: "Outside") -> "Cluster":
    """Let the manager run the controllers that `config` names."""
    from inkube.controllers.workloads.cluster import Cluster

    cluster = Cluster(manager, config, outside)
    for name, place in CONTROLLERS.items():
        if config.runs(name):
            module, _, function = place.rpartition(".")
            getattr(import_module(f"{__name__}.{module}"), function)(cluster)
    return cluster
