"""The tables that `kubectl get` shows for built-in kinds: `of` returns the columns, `cells` the row
of an object, and `conditions` the conditions of this row."""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
