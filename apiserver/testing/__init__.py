"""The objects that the pytest plugin gives to tests: a server in a thread, clients, logs, a
scripted world.

Nothing here is loaded before a test uses one of the fixtures. The names below are for annotations:
`def test_it(kube: Kube): …`.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
