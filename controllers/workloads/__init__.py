"""Simulated workloads: upstream's controllers, a scheduler and simulated nodes. Opt-in.

`module.SimulatedWorkloads` is the module that a server builds. Other rooms import only `Workloads`
from this room, and a server without workloads does not load it. Each controller is a module with a
function `add(cluster)`; `cluster.Cluster` contains their shared parts. The names of controllers are
those of kube-controller-manager's `--controllers`.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
