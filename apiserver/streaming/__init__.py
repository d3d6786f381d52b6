"""Connections that leave plain HTTP: WebSocket and SPDY, and the protocols of Kubernetes on them.

Input: a request for an upgrade. `commands` passes a `Process` (exec, attach) and `forwards` passes
ports to the function that serves them; `logs` sends the output of a container. `sockets` opens
WebSockets for all rooms; `watching.messages` sends watches. This room does not depend on pods, and
requests are authorized before. Loaded with the first such request. Every queue, frame and number of
streams has a bound.

    sockets    HTTP → WebSocket             spdy        bytes ⇄ frames of SPDY/3.1
    takeover   HTTP → the bare connection   connections frames ⇄ streams
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
