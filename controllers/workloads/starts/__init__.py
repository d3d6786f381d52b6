"""The modules that start controllers of workloads, each loaded with its controller.

In comes the `Cluster`; `installation` asks for those that a configuration names. All of them
together take 0.3 s to load, one of them a tenth of that.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
