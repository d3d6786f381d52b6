from inkube.apiserver.sources import beginnings as beginnings
from inkube.apiserver.sources import foundation as foundation
from inkube.apiserver.sources.earlier import snapshots as snapshots
from inkube.apiserver.sources.earlier.snapshots import Snapshot as Snapshot
from inkube.apiserver.sources.foundation import Foundation as Foundation
from inkube.apiserver.sources.progress import Progress as Progress
from inkube.apiserver.sources.sharedkeys import SharedKeys as SharedKeys
