"""Subresources and reviews with a way of their own: an `Exchange` in, a response out.

`table` lists them by group, plural and name for `app`. `/status` is none of these: it is an update.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
