"""What `kubectl get` shows of built-in kinds: `of` the columns, `cells` an object's row,
`conditions` what the row says of it besides."""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
