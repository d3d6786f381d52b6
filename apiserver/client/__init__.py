"""Clients of a server in its own process. They skip HTTP, but not admission and validation.

Input: the registry and the served kinds. Each call takes an object or its name, and returns the
server's response. Code that embeds a server uses `InProcessClient`. The server's controllers use
one whose requests Faults can select.
"""

from inkube.apiserver.client.faultinjection import FaultInjection as FaultInjection
from inkube.apiserver.client.inprocess import CONTROLLER as CONTROLLER
from inkube.apiserver.client.inprocess import InProcessClient as InProcessClient
