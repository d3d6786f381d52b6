from inkube.apiserver.watching import messages as messages
from inkube.apiserver.watching import shared as shared
from inkube.apiserver.watching.streams import OpenWatch as OpenWatch
from inkube.apiserver.watching.streams import Streams as Streams
from inkube.apiserver.watching.watch import SLOW as SLOW
from inkube.apiserver.watching.watch import Watcher as Watcher
from inkube.apiserver.watching.watch import bookmark as bookmark
from inkube.apiserver.watching.watch import last_state as last_state
from inkube.apiserver.watching.watch import too_old as too_old

SHARED: str
