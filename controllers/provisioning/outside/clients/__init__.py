"""Clients of git servers and of the APIs of providers, loaded with the first call to one.

They load dulwich, an HTTP client, PyJWT and `cryptography`. The scripted world needs none of them.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
