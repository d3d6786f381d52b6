"""Kinds declared in Python on a server: a `KindModule` with its registry, store and HTTP.

`install` takes the core of a server, serves the kinds, and returns the `Environment` for their
checks. `parts` arranges that `install` runs at the first request for one of their groups.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
