"""The default objects themselves, loaded with the first request that reads one of them."""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
