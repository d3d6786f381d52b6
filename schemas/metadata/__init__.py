"""The metadata of objects: its decoding, valid names, permitted changes.

The functions take the `metadata` of any object, and return a typed form, errors and warnings. The
strategy of every kind uses them. Additional rules of a kind are with this kind.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
