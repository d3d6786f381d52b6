"""What `kubectl get` shows of built-in kinds: `of` the columns, `cells` an object's row."""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
