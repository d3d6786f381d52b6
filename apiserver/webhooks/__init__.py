"""Webhooks: which ones to call, the requests to them, and the handling of their responses.

`plugins` are the two admission plugins, `conversion` converts versions of custom resources, only
`caller` opens connections. Loaded with the first webhook; reviews as data are `schemas.webhooks`.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
