"""The append-only log, its single writer and the watch cache. Storage handles only bytes and
revisions."""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
