"""The engine of writes: it carries out a change of a request, attempt after attempt.

`PlainEngine` is the loop alone: begin with the newest stored state, run the stages, commit.
`FastEngine` adds queues, uncommitted states, a thread for large objects and a cache of patches.
Both give the same results. Only `registry` selects one.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
