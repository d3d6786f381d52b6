"""Connections that leave plain HTTP: WebSocket and SPDY, and the protocols of Kubernetes on them.

A request that asks for an upgrade comes in; `commands` gives a `Process` (exec, attach) and
`forwards` gives ports to whoever answers them, `logs` sends what a container writes. `sockets`
opens WebSockets for anybody; watches are sent by `watching.messages`.
Nothing here knows pods: who asks, and whether they may, is settled before. Imported with the first
such request. Every queue, frame and number of streams has a bound.

    sockets    HTTP → WebSocket             spdy        bytes ⇄ frames of SPDY/3.1
    takeover   HTTP → the bare connection   connections frames ⇄ streams
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
