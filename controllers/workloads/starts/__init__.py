"""The modules that start controllers of workloads, each loaded with its controller.

Each has a function that receives the `Cluster`. `installation` loads those that a configuration
names. Loading all of them takes 0.3 s, loading one of them a tenth of that.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
