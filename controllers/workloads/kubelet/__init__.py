"""The simulated kubelets: nodes that register and renew leases, pods whose life is data.

`add` starts them for a cluster. Which nodes are theirs says `nodes`; what happens to pods and nodes
say Stages (`workloads.stages`), or Python functions (`functions`); what stages cannot say stands
here: leases, readiness gates, the end of containers before a pod goes.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
