from inkube.apiserver.server import APIServer as APIServer
from inkube.apiserver.server import Options as Options
from inkube.controllers.workloads import Workloads as Workloads
from inkube.controllers.workloads.kubelet.functions import pod as pod
from inkube.schemas.status import StatusError as StatusError

__version__: str
__all__ = ["APIServer", "Options", "StatusError", "Workloads", "__version__", "pod"]
