"""Failing on purpose: what `Fault` objects of world.inkube.dev/v1 do to requests.

Stored faults come in as they change (`active`, which follows the store) and are compiled once
(`rules`, pure). `app` asks it about every request, and where there are no faults at all reads one
attribute; what comes out is a `Trouble`: what the request meets on its way. `app` lets it wait,
refuses it or cuts it off (`effects`), `handlers` read the past for it, `watching` ends its watch.
The client of the controllers (`root`) asks too, for the faults that say so. The kind itself, its
rules and its status are `controllers.faults`.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
