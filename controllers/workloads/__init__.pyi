from inkube.controllers.workloads.cluster import Cluster as Cluster
from inkube.controllers.workloads.configuration import CONTROLLERS as CONTROLLERS
from inkube.controllers.workloads.configuration import Workloads as Workloads
from inkube.controllers.workloads.kubelet.functions import Command as Command
from inkube.controllers.workloads.kubelet.functions import Connection as Connection
from inkube.controllers.workloads.kubelet.functions import Container as Container
from inkube.controllers.workloads.kubelet.functions import pod as pod
from inkube.controllers.workloads.module import SimulatedWorkloads as SimulatedWorkloads
