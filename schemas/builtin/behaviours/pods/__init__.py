"""Pods, and the specs of pods that workloads, jobs and claims have as templates.

In come specs and old ones, out come defaults, errors and warnings. The behaviours of every kind
with a template call it; `pods` has those of the pod itself.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
