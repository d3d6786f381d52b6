"""The source of a server's store: memory, a file, a database, a past revision or a recording.

It takes the options, and returns a log for the store and a player of recordings. `lifespan` calls
`foundation`. Code for snapshots, replays and past revisions is loaded only if the options need it.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
