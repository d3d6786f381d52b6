"""What the pytest plugin hands to tests: a server in a thread, clients, logs, a scripted world.

Nothing here is imported before a test asks for one of the fixtures. The names below are for
annotations: `def test_it(kube: Kube): …`.
"""

from inkube.apiserver.testing.clients import BlockingClient
from inkube.apiserver.testing.kube import AsyncKube, Kube
from inkube.apiserver.testing.log import ObjectChange, TestLog
from inkube.apiserver.testing.scripted import ScriptedWorld

__all__ = ["AsyncKube", "BlockingClient", "Kube", "ObjectChange", "ScriptedWorld", "TestLog"]
