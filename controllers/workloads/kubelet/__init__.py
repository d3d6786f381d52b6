"""Simulated kubelets: nodes that register and renew leases, pods with a lifecycle defined by data.

`add` adds them to a cluster. Stages (`workloads.stages`) or Python functions (`functions`) define
the lifecycle of pods and nodes. This room contains the parts that stages cannot express: leases,
readiness gates, the end of containers before the deletion of a pod.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
