"""OpenAPI documents of served kinds: version 3 by group version, and version 2 merged from these.

The functions take definitions, and return documents as plain JSON, or as the protocol buffer that
kubectl requests. `apiserver.discovery` serves and caches them.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
