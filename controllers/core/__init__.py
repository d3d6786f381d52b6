"""The controllers that every server runs: CRDs, namespaces, garbage collection, quotas,
aggregation, expiry, protection of objects in use, and hints.

Input: a manager, and data about all kinds from the composition root (a `catalog`, the table of
CRDs, the schemas of served kinds). Each module has a function `add`, which adds a controller to the
manager. Only the composition root calls them. They do not depend on checks or kinds declared in
Python.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
