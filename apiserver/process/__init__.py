"""The process of `inkube serve`: its event loop, its memory, warnings at its start.

`cli` and the envtest binaries call it. This code changes the whole process, so a server that is
embedded in another program does not use it.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
