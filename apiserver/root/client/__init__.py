"""Clients of a server in its own process: no HTTP, and all of admission and validation.

In come an object or the name of one, out comes what the server answers to it. Those who embed a
server have `InProcessClient`; its controllers have `FaultInjectingClient` around it.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
