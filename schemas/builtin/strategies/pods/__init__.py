"""Pods, and the specs of pods that workloads, jobs and claims have as templates.

Input: new and old specs. Output: defaults, errors and warnings. The behaviors of all kinds with a
template call it. `pods` contains the behavior of pods.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
