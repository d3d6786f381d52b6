"""Pods as stored objects: `pods` contains their strategy, `updates` the changes by writes to
subresources."""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
