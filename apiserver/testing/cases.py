"""For suites of unittest: a server for each test, begun from what the class fills in once."""

import unittest
from collections.abc import Mapping
from typing import Any, ClassVar

from inkube.apiserver.configuration import Options
from inkube.apiserver.root import Snapshot
from inkube.apiserver.testing.clients import BlockingClient
from inkube.apiserver.testing.kube import Kube, Plan, running
from inkube.apiserver.testing.thread import LoopThread


class KubeTestCase(unittest.TestCase):
    """`self.kube` is a server of the test's own, `self.client` its client.

    `kube_options` are options of `inkube.Options`; `populate` fills the server that all tests of
    the class begin with, once.
    """

    kube_options: ClassVar[Mapping[str, Any]] = {}
    kube: Kube
    client: BlockingClient
    _thread: ClassVar[LoopThread]
    _begin: ClassVar[Snapshot]

    @classmethod
    def populate(cls, kube: Kube) -> None:
        """Make what every test finds."""

    @classmethod
    def setUpClass(cls) -> None:
        """Fill a server and keep its state."""
        super().setUpClass()
        cls._thread = cls.enterClassContext(LoopThread())
        with running(cls._thread, Plan(cls._options())) as kube:
            cls.populate(kube)
            cls._begin = kube.snapshot()

    def setUp(self) -> None:
        """Begin with that state."""
        super().setUp()
        options = {**self.kube_options, "snapshot": self._begin, "definitions": ()}
        plan = Plan(Options(offline=True, retry_seconds=0.0, **options))
        self.kube = self.enterContext(running(self._thread, plan))
        self.client = self.kube.client

    @classmethod
    def _options(cls) -> Options:
        return Options(offline=True, retry_seconds=0.0, **cls.kube_options)
