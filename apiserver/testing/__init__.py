"""What the pytest plugin hands to tests: a server in a thread, clients, logs, a scripted world.

Nothing here is imported before a test asks for one of the fixtures. The names below are for
annotations: `def test_it(kube: Kube): …`.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
