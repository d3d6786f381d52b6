"""The calls of webhooks, which load CEL and an HTTP client with the first webhook.

`dispatcher` calls those of admission, `conversion` those of definitions, both through `caller`.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
