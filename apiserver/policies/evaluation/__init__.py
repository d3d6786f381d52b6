"""The evaluation of bound policies, which loads CEL: `plugin` uses it for the first binding."""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
