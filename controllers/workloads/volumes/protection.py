"""The controllers that remove the protection of claims, volumes and their classes.

Servers without workloads also run them, after the first deletion of such an object: see
`core.protection`.
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
