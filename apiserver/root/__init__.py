"""The composition root: the parts of a server, their start and their stop.

In come options, out comes a running server: `parts` builds, `lifespan` runs. Only here and in
`testing` does apiserver know `controllers`. `server.APIServer` calls it.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
