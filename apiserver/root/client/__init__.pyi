from inkube.apiserver.root.client.faultinjection import FaultInjectingClient as FaultInjectingClient
from inkube.apiserver.root.client.inprocess import CONTROLLER as CONTROLLER
from inkube.apiserver.root.client.inprocess import InProcessClient as InProcessClient
