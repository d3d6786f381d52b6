"""Built-in admission plugins: namespace lifecycle, limits, quotas, permissions, declared kinds.

Each is a `registry.plugins.Plugin`. The composition root adds them to the chain in their order.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
