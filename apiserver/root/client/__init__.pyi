from inkube.apiserver.root.client.faultinjection import FaultInjection as FaultInjection
from inkube.apiserver.root.client.inprocess import CONTROLLER as CONTROLLER
from inkube.apiserver.root.client.inprocess import InProcessClient as InProcessClient
