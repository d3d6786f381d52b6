"""The composition root: the parts of a server, their start and their stop.

Input: options. Output: a running server, which `parts` builds and `lifespan` runs. Nothing else is
here: what the parts do is in other rooms. `server.APIServer` calls it.
"""

from inkube.apiserver.root import lifespan as lifespan
from inkube.apiserver.root.parts import Parts as Parts
