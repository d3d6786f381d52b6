"""Webhooks: whom to ask over the network, what is sent, and what is made of the answer.

`plugins` are the two admission plugins, `conversion` converts versions of custom resources,
`caller` is the only one that opens connections. Loaded with the first webhook; reviews as data are
`schemas.webhooks`.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
