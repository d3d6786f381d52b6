"""The behavior of built-in kinds that data cannot express. `of` returns the strategy of a
resource."""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
