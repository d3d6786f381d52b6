"""Bytes to values and back: requests, bodies, options, negotiation, responses, guards, metrics.

It knows the values that the registry takes, never the store or particular kinds. `app`, `auth`, the
verbs and subresources call it.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
