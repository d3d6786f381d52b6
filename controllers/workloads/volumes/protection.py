"""The controllers that take the protection off claims, volumes and their classes.

Servers without workloads run them as well, once something is to go: see `core.protection`.
"""

from inkube.controllers.core import protection
from inkube.controllers.workloads.cluster import Cluster


def add_claims(cluster: Cluster) -> None:
    """Run persistentvolumeclaim-protection-controller."""
    protection.add_claims(cluster.manager, cluster.client())


def add_volumes(cluster: Cluster) -> None:
    """Run persistentvolume-protection-controller."""
    protection.add_volumes(cluster.manager, cluster.client())


def add_classes(cluster: Cluster) -> None:
    """Run volumeattributesclass-protection-controller."""
    protection.add_classes(cluster.manager, cluster.client())
