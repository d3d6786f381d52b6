"""Fault injection: the effects of `Fault` objects of world.inkube.dev/v1 on requests.

`active` follows the stored faults, and `rules` compiles each fault one time, without I/O. `app`
looks up the faults of every request; if there are none, this costs one attribute access. The result
is an `Injection`: the effects on this request. `app` delays, rejects or disconnects the request
(`effects`), `handlers` read an older state for it, and `watching` ends its watch. The controllers'
client (`root`) applies faults that select controllers. `controllers.faults` contains the kind
itself, its rules and its status.
"""

from inkube.apiserver.faults import effects as effects
from inkube.apiserver.faults import rules as rules
from inkube.apiserver.faults.active import Faults as Faults
from inkube.apiserver.faults.injections import Injection as Injection
from inkube.apiserver.faults.injections import WatchFault as WatchFault
