"""The parts a server is put together from: objects it starts with, declared kinds, the client.

Only here, in `server` and in `testing` does apiserver know `controllers`. `server.APIServer` calls
it.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
