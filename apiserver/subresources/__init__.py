"""Subresources and reviews with their own handlers, which take an `Exchange` and return a response.

`table` lists them by group, plural and name for `app`. `/status` is not among them, because it is
an update.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
