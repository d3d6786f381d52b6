from inkube.apiserver.sources.earlier import compatibility as compatibility
from inkube.apiserver.sources.earlier import past as past
from inkube.apiserver.sources.earlier import replay as replay
from inkube.apiserver.sources.earlier import snapshots as snapshots
from inkube.apiserver.sources.earlier import unserved as unserved
