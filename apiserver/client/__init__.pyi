from inkube.apiserver.client.faultinjection import FaultInjection as FaultInjection
from inkube.apiserver.client.inprocess import CONTROLLER as CONTROLLER
from inkube.apiserver.client.inprocess import InProcessClient as InProcessClient
