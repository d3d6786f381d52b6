"""Pods as stored objects: `pods` is their strategy, `updates` the parts of a pod that writes to its
subresources change."""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
