# A server for tests
from inkube.apiserver.testing import AsyncKube as AsyncKube
from inkube.apiserver.testing import Kube as Kube
from inkube.apiserver.testing import KubeNamespace as KubeNamespace
from inkube.apiserver.testing import KubeTestCase as KubeTestCase
from inkube.apiserver.testing import LoopThread as LoopThread
from inkube.apiserver.testing import Plan as Plan
from inkube.apiserver.testing import running as running

# Its clients
from inkube.apiserver.testing import AsyncClient as AsyncClient
from inkube.apiserver.testing import BlockingClient as BlockingClient

# What happened on it
from inkube.apiserver.http import RequestRecord as RequestRecord
from inkube.apiserver.testing import ObjectChange as ObjectChange
from inkube.apiserver.testing import TestLog as TestLog
from inkube.apiserver.watching import OpenWatch as OpenWatch

# Faults
from inkube.apiserver.testing import Failing as Failing
from inkube.apiserver.testing import Failure as Failure

# Snapshots
from inkube.apiserver.manifests import ManifestError as ManifestError
from inkube.apiserver.testing import Snapshot as Snapshot

# Clocks
from inkube.controllers.clock import FakeClock as FakeClock
from inkube.controllers.clock import SystemClock as SystemClock
from inkube.schemas.clock import Clock as Clock

# The scripted world
from inkube.apiserver.testing import ScriptedWorld as ScriptedWorld
