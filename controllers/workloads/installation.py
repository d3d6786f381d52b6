"""The controllers that a configuration names, put to work."""

from importlib import import_module

from inkube.controllers.manager import Manager
from inkube.controllers.workloads.cluster import Cluster, Outside
from inkube.controllers.workloads.configuration import CONTROLLERS, Workloads


def add(manager: Manager, config: Workloads, outside: Outside) -> Cluster:
    """Let the manager run the controllers that `config` names."""
    cluster = Cluster(manager, config, outside)
    for name, place in CONTROLLERS.items():
        if config.runs(name):
            module, _, function = place.rpartition(".")
            getattr(import_module(f"inkube.controllers.workloads.{module}"), function)(cluster)
    return cluster
