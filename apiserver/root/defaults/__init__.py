"""The objects that every server has: roles, priorities, fairness, versions, its own service.

In comes the kind that somebody looks at; out come the objects of its set, stored before the look.
`parts` makes one `sets.Defaults`, `app` asks it; what the objects are is loaded with the first.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
