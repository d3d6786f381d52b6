"""Default objects of every server: roles, priorities, flow control, versions, its own service.

Before a request reads a kind, the objects of its set are stored. `parts` creates one
`sets.Defaults`, and `app` calls it. The objects themselves are loaded with the first such request.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
