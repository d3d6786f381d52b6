"""The controllers every server runs: CRDs, namespaces, garbage, quotas, aggregation, expiry, and
those that hold what is in use.

In comes a manager, and what the composition root knows of all kinds (a `catalog`, the table of
CRDs, schemas of what is served); each module `add`s a controller to it and nothing else leaves.
Only `apiserver.server` calls them. They know neither checks nor kinds declared in Python.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
