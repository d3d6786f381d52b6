"""Kinds declared in Python on a server: what a `KindModule` needs of registry, store and HTTP.

In comes what the server has made, out comes the `Environment` that checks work with; the kinds are
served from then on. `parts` has `install` called when somebody asks for one of their groups.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
