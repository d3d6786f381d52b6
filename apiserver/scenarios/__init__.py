"""Scenarios of the scripted world: what they contain, and their objects on a server.

Input: the name of a scenario, and a client of this process or the kubeconfig of another server.
Output: its objects, created or replaced. `commands` lists and loads scenarios, `root.lifespan`
begins with one, `testing` loads them for tests.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
