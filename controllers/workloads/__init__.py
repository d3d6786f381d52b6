"""Workloads that live: upstream's controllers, a scheduler and simulated nodes. Opt-in.

The composition root calls `add` when a server is wanted with workloads; nobody else imports this
folder but for `Workloads`, and a server without it loads none of it. Each controller is a module
that offers `add(cluster)`; what they share of the server is `cluster.Cluster`. Names are those of
kube-controller-manager's `--controllers`.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
