"""metadata of objects: its decoding, valid names, allowed changes.

In comes the `metadata` of any object, out come a typed form, errors and warnings. Every behaviour
of a kind calls it; what a kind adds to it stands with the kind.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
