"""Objects of `apiserver.config.k8s.io`: JWT issuers, anonymous requests and authorizers.

Loaded with the first of these objects, because it imports CEL.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
