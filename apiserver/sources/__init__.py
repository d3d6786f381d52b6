"""The source of a server's store: memory, a file, a database, a past revision or a recording.

It takes the options, and returns a log for the store and a player of recordings. `lifespan` calls
`foundation`. Code for snapshots, replays and past revisions is loaded only if the options need it.
"""

from inkube.apiserver.sources import beginnings as beginnings
from inkube.apiserver.sources import compatibility as compatibility
from inkube.apiserver.sources import foundation as foundation
from inkube.apiserver.sources import past as past
from inkube.apiserver.sources import replay as replay
from inkube.apiserver.sources import snapshots as snapshots
from inkube.apiserver.sources import unserved as unserved
from inkube.apiserver.sources.foundation import Foundation as Foundation
from inkube.apiserver.sources.progress import Progress as Progress
from inkube.apiserver.sources.sharedkeys import SharedKeys as SharedKeys
from inkube.apiserver.sources.snapshots import Snapshot as Snapshot
