"""Watches: from the store's changes to the frames that a client reads.

`watch` decides what a watcher sees, `frames` makes bytes of it once for all, `streams` writes them
under backpressure to an HTTP answer or to a WebSocket (`messages`). `app` hands it exchanges with
the verb watch; the in-process client uses `watch`.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
