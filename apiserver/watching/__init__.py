"""Watches: from the store's changes to the frames that a client reads.

`watch` decides how a watcher sees each change. `frames` encodes each event once for all watchers.
`streams` writes the bytes with backpressure to an HTTP response, to a WebSocket (`messages`) or to
a part of a connection that many watches share (`shared`). `app` passes exchanges with the verb
watch to this room. The in-process client uses `watch`.
"""

from inkube.schemas import lazy

SHARED = "/inkube/v1/watch"
"""The path of connections for many watches."""

__getattr__ = lazy.exports(__name__)
