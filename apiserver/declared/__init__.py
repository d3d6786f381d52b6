"""Modules and kinds declared in Python on a server: a `KindModule` with registry, store and HTTP.

Input: a `Host` with the parts of the server. Output: the parts of the modules that are built at the
start (`startmodules`), and the `Environment` for the checks of kinds that are installed later
(`install`). `root.parts` arranges that `install` runs at the first request for one of their groups.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
