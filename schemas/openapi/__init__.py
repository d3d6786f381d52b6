"""OpenAPI documents of served kinds: version 3 per group and version, version 2 merged of these.

In come definitions, out come documents as plain JSON, or as the protocol buffer that kubectl asks
for. `apiserver.discovery` serves and keeps them.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
