"""Watches: from the store's changes to the frames that a client reads.

`watch` decides how a watcher sees each change. `frames` encodes each event once for all watchers.
`streams` writes the bytes with backpressure to an HTTP response, to a WebSocket (`messages`) or to
a part of a connection that many watches share (`shared`). `app` passes exchanges with the verb
watch to this room. The in-process client uses `watch`.
"""

from inkube.apiserver.watching import messages as messages
from inkube.apiserver.watching import shared as shared
from inkube.apiserver.watching.shared import SHARED as SHARED
from inkube.apiserver.watching.streams import OpenWatch as OpenWatch
from inkube.apiserver.watching.streams import Streams as Streams
from inkube.apiserver.watching.watch import SLOW as SLOW
from inkube.apiserver.watching.watch import Watcher as Watcher
from inkube.apiserver.watching.watch import bookmark as bookmark
from inkube.apiserver.watching.watch import earlier as earlier
from inkube.apiserver.watching.watch import last_state as last_state
from inkube.apiserver.watching.watch import too_old as too_old
