from inkube.apiserver.capture import capture as capture
from inkube.apiserver.capture import versions as versions
from inkube.apiserver.capture.capture import CaptureScope as CaptureScope
from inkube.apiserver.capture.cluster import Address as Address
from inkube.apiserver.capture.cluster import Cluster as Cluster
from inkube.apiserver.capture.cluster import ClusterError as ClusterError
from inkube.apiserver.capture.versions import Versions as Versions
