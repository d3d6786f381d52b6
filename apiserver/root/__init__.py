"""The composition root: the parts of a server, their start and their stop.

Input: options. Output: a running server, which `parts` builds and `lifespan` runs. Only this room
and `testing` import `controllers` in apiserver. `server.APIServer` calls it.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
