"""Watches: from the store's changes to the frames that a client reads.

`watch` decides what a watcher sees, `frames` makes bytes of it once for all, `streams` writes them
under backpressure to an HTTP answer, to a WebSocket (`messages`) or to a part of a connection that
many watches share (`shared`). `app` hands it exchanges with the verb watch; the in-process client
uses `watch`.
"""

from inkube.schemas import lazy

SHARED = "/inkube/v1/watch"
"""Where a connection for many watches is opened."""

__getattr__ = lazy.exports(__name__)
