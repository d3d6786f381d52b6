"""A base class for unittest: each test gets a server that starts with a state which its class
prepares once."""

import unittest
from collections.abc import Mapping
from typing import Any, ClassVar

from inkube.apiserver.configuration import Options
from inkube.apiserver.sources import Snapshot
from inkube.apiserver.testing import kube
from inkube.apiserver.testing.clients import BlockingClient
from inkube.apiserver.testing.kube import Kube, Plan, running
from inkube.apiserver.testing.thread import LoopThread


class KubeTestCase(unittest.TestCase):
    """A test case with a server for each test: `self.kube`, with the client `self.client`.

    `kube_options` are options of `inkube.Options`. `populate` runs once for the class and creates
    the objects that all tests of the class start with.
    """

    kube_options: ClassVar[Mapping[str, Any]] = {}
    kube: Kube
    client: BlockingClient
    _thread: ClassVar[LoopThread]
    _begin: ClassVar[Snapshot]

    @classmethod
    def populate(cls, kube: Kube) -> None:
        """Create the objects that each test of the class starts with."""

    @classmethod
    def setUpClass(cls) -> None:
        """Start a server, call `populate`, and take a snapshot."""
        super().setUpClass()
        cls._thread = cls.enterClassContext(LoopThread())
        with running(cls._thread, Plan(cls._options())) as kube:
            cls.populate(kube)
            cls._begin = kube.snapshot()

    def setUp(self) -> None:
        """Start a server from the snapshot of the class."""
        super().setUp()
        options = {**self.kube_options, "snapshot": self._begin, "definitions": ()}
        plan = Plan(kube.options(**options))
        self.kube = self.enterContext(running(self._thread, plan))
        self.client = self.kube.client

    @classmethod
    def _options(cls) -> Options:
        return kube.options(**cls.kube_options)
