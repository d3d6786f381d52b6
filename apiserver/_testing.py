"""inkube.testing: what tests import by name, in pytest or without it."""

from inkube.apiserver.root.sources.snapshots import Snapshot
from inkube.apiserver.testing.cases import KubeTestCase
from inkube.apiserver.testing.clients import AsyncClient, BlockingClient
from inkube.apiserver.testing.kube import AsyncKube, Kube, KubeNamespace, Plan, running
from inkube.apiserver.testing.thread import LoopThread

__all__ = [
    "AsyncClient",
    "AsyncKube",
    "BlockingClient",
    "Kube",
    "KubeNamespace",
    "KubeTestCase",
    "LoopThread",
    "Plan",
    "Snapshot",
    "running",
]
