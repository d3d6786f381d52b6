# The server
from inkube.apiserver.configuration import BadOption as BadOption
from inkube.apiserver.configuration import Options as Options
from inkube.apiserver.server import APIServer as APIServer
from inkube.schemas.status import StatusError as StatusError

# Workloads
from inkube.controllers.workloads import Command as Command
from inkube.controllers.workloads import Connection as Connection
from inkube.controllers.workloads import Container as Container
from inkube.controllers.workloads import Workloads as Workloads
from inkube.controllers.workloads import pod as pod

__version__: str
