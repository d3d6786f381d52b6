"""What built-in kinds do that their data cannot say; `of` finds the strategy of a resource."""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
