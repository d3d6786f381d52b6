"""How Go reads and writes: JSON, YAML, times, numbers, URLs, addresses, regular expressions.

In come bytes and texts of clients, out go plain values of Python or a refusal in Go's own words.
The twin of a language: nothing here knows Kubernetes, its objects or a server. Everybody who has
to answer as a program in Go would calls it.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
