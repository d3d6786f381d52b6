from inkube.controllers.workloads.configuration import CONTROLLERS as CONTROLLERS
from inkube.controllers.workloads.configuration import Workloads as Workloads
from inkube.controllers.workloads.installation import add as add
