"""Signed tokens and the keys in PEM, which load PyJWT and `cryptography`."""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
