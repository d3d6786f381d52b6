"""The append-only log, its single writer and the watch cache; knows bytes and revisions only."""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
