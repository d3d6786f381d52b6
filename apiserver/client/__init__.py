"""Clients of a server in its own process. They skip HTTP, but not admission and validation.

Input: the registry and the served kinds. Each call takes an object or its name, and returns the
server's response. Code that embeds a server uses `InProcessClient`. The server's controllers use
one whose requests Faults can select.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
